/*
 * Builds the sample lake of the reference pages: two weeks of a sample brand, whose February is closed. Afterwards the
 * service voids an order and sends a new field, so that every table has rows. Time is fixed, so the rows are always the
 * same.
 */
import { monthSources } from '../../cli/close-sums.ts';
import { restate } from '../../sample/brand.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import { writeLake } from '../../test/fakes/lake-on-disk.ts';
import { sampleLake } from '../../test/sync/sample-lake.ts';

/** The first day, the day that is restated after its month was closed, and the first day with a new field. */
const FIRST_DAY = '2026-02-20';
const RESTATED_DAY = '2026-02-27';
const DAY_OF_NEW_FIELD = '2026-03-05';
/** The days on which all reports are read, at noon UTC. The month is closed after the first of them. */
const RUNS = ['2026-03-03', '2026-03-06', '2026-03-07'];
const CLOSED_MONTH = '2026-02';

const noon = (day: string) => Date.parse(`${day}T12:00:00Z`);

/** The time at which the lake is used, in milliseconds since 1970. */
export const NOW_MS = noon(RUNS.at(-1) ?? '');

/** Writes the lake into a folder. */
export async function writeReferenceLake(folder: string): Promise<void> {
  const [first = ''] = RUNS;
  const sample = await sampleLake({
    now: `${first}T12:00:00Z`,
    startDate: FIRST_DAY,
    recordsTo: new Date(NOW_MS).toISOString(),
    clicksPerDay: 40,
  });
  try {
    for (const day of RUNS) {
      sample.nowMs = noon(day);
      for (const { record } of sample.brand.records.order_list)
        record.customer_id ??= record.publisher_id ?? null;
      if (day !== first) {
        restate(sample.brand, 'order_list', RESTATED_DAY, (held) =>
          held.map((each, index) =>
            index === 0 ? { ...each, record: { ...each.record, status: 'void' } } : each,
          ),
        );
        restate(sample.brand, 'order_list', DAY_OF_NEW_FIELD, (held) =>
          held.map((each) => ({ ...each, record: { ...each.record, promotion: 'SPRING' } })),
        );
      }
      const { status } = await sample.sync();
      if (status !== 'complete') throw new Error(`the run of ${day} ended as ${status}`);
      if (day === first)
        await closeMonth({
          ...sample.access(),
          ...{ settings: undefined, month: CLOSED_MONTH, anyway: true },
          ...{ by: 'ann', sums: { sourcesOf: monthSources, totalsOf: async () => [] } },
        });
    }
    await writeLake(sample.store, folder);
  } finally {
    await sample.close();
  }
}
