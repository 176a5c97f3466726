/**
 * Compares the lake as of each reading with what the service returned then, for random lives of a few days: records that come
 * and go, change and are copied, with and without keys. The days live through rollbacks, rebuilds and the vacuum.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS, HOUR_MS, addDays } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { listVersions, rollBack } from '../../shared/operations/rollback.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runs } from '../fixtures/property-runs.ts';
import { type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const FIRST = '2026-03-06';
const DAYS = [0, 1, 2].map((days) => addDays(FIRST, days));
/** What a day was after each time at which it was read whole, as sorted texts of its records. */
type Life = Map<string, { atMs: number; records: string[] }[]>;

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleLake;

beforeAll(async () => {
  temporary = await temporaryFolder();
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    recordsTo: '2026-03-09T04:00:00Z',
    clicksPerDay: 8,
    reports: ['order_list'],
    brandSettings: { snapshotRetentionDays: 1 },
  });
});
afterAll(async () => {
  await sample.close();
  await temporary.remove();
});

const step = fc.record({
  day: fc.constantFrom(...DAYS),
  index: fc.nat(3),
  what: fc.constantFrom(
    'alter',
    'remove',
    'copy',
    'twin',
    'unkey',
    'new',
    'note',
    'empty',
    'rollback',
    'rebuild',
  ),
  value: fc.constantFrom('1.5', '2', '19.000000001'),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The records of a day after the step. A copy is equal to the record, and a twin shares its key alone. */
function changed(held: ReturnType<typeof heldOf>, { what, index, value, day }: Step) {
  const at = held[index % Math.max(1, held.length)];
  if (what === 'new' || !at) {
    const record = { transid: `new-${value}`, status: 'new', amount: value };
    return [...held, { at: at?.at ?? Date.parse(`${day}T18:00:00Z`), record }];
  }
  const rest = held.filter((one) => one !== at);
  const altered = (own: JsonObject) => [...rest, { ...at, record: { ...at.record, ...own } }];
  switch (what) {
    case 'alter':
      return altered({ status: value === '2' ? 'void' : 'effective', amount: value });
    case 'remove':
      return rest;
    case 'copy':
      return [...held, at];
    case 'twin':
      return [...held, { ...at, record: { ...at.record, amount: value } }];
    case 'unkey':
      return altered({ transid: '' });
    case 'note':
      return altered({ note: { text: value } });
    case 'empty':
      return [];
    default:
      return held;
  }
}

function heldOf(lake: SampleLake) {
  return lake.brand.records.order_list;
}

function textOf(record: Readonly<Record<string, unknown>>): string {
  const { transid = null, status = null, amount = null, note = null } = record;
  const [id, digits, text] = [transid, amount, note].map((value) =>
    JSON.stringify(value ?? '').replaceAll(/["\\]/g, ''),
  );
  return [id, status, Number(digits), text].join(' ');
}

async function live(
  lake: SampleLake,
  steps: readonly (readonly Step[])[],
  key: string | null,
): Promise<Life> {
  const brandSettings = { reports: { order_list: { ...(key !== null && { key }) } } };
  const life: Life = new Map(DAYS.map((day) => [day, []]));
  const note = (day: string, records: string[]) =>
    life.get(day)?.push({ atMs: lake.nowMs, records: records.toSorted() });
  const read = async () => {
    const scope = { from: FIRST, to: DAYS.at(-1) ?? FIRST, acceptFewer: true };
    expect((await lake.sync({ brandSettings, scope })).status).toBe('complete');
    for (const day of DAYS) note(day, recordsOfDay(lake.brand, 'order_list', day).map(textOf));
    lake.nowMs += 5 * HOUR_MS;
  };
  await read();
  for (const group of steps) {
    for (const one of group) restate(lake.brand, 'order_list', one.day, (held) => changed(held, one));
    await read();
    for (const { what, day } of group) {
      if (what === 'rebuild')
        await lake.rebuild({ reports: ['order_list'], from: day, to: day }, { brandSettings });
      if (what !== 'rollback') continue;
      const options = { ...lake.access(), settings: lake.settings({ brandSettings }), report: orders, day };
      const { versions } = await listVersions(options);
      const to = versions.find(({ open, to: until }) => open === false && until !== null);
      if (!to?.from) continue;
      await rollBack(options, to.snapshot);
      const then = life.get(day)?.findLast(({ atMs }) => atMs <= Date.parse(to.from ?? ''));
      note(day, then?.records ?? []);
      lake.nowMs += HOUR_MS;
    }
  }
  // The vacuum deletes the versions: what they were is in the changes alone.
  lake.nowMs += 3 * DAY_MS;
  await read();
  return life;
}

async function found(folder: string, lake: SampleLake, asOf: number): Promise<Map<string, string[]>> {
  const sql = `SELECT * FROM orders WHERE dt <= '${DAYS.at(-1)}'`;
  const connection = await createSqlConnection(
    { store: openLocalStore(folder), reports, settings: undefined, nowMs: lake.nowMs, asOf },
    sql,
  );
  const rows = await Array.fromAsync(resultObjects(await query(connection, sql)));
  connection.closeSync();
  const byDay = Map.groupBy(
    rows.map((row) => ({ ...row }) as Record<string, unknown>),
    ({ dt }) => String(dt),
  );
  return new Map(DAYS.map((day) => [day, (byDay.get(day) ?? []).map((row) => textOf(row)).sort()]));
}

describe('a query as of each reading', () => {
  it('returns what the service had returned by then, however the day changed later', async () => {
    let lives = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(null, 'transid', 'status'),
        async (steps, key) => {
          const lake = sample.emptyLake();
          const life = await live(lake, steps, key);
          lives += 1;
          const folder = `${temporary.path}/${lives}`;
          await writeLake(lake.store, folder);
          const moments = new Set([...life.values()].flat().map(({ atMs }) => atMs));
          for (const atMs of moments) {
            const expected = DAYS.map(
              (day) => [day, life.get(day)?.findLast((one) => one.atMs <= atMs)?.records ?? []] as const,
            );
            expect([atMs, await found(folder, lake, atMs + 1000)]).toEqual([atMs, new Map(expected)]);
          }
        },
      ),
      { ...runs(4), endOnFailure: true },
    );
  }, 600_000);
});
