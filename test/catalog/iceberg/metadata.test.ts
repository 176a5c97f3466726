import { describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS } from '../../../shared/base/days.ts';
import { type IcebergTable, thinned } from '../../../shared/catalog/iceberg/metadata.ts';

const NOW_MS = Date.parse('2026-11-28T12:00:00Z');
const LOCATION = 's3://acme-reports-of-production/iceberg/transactions';

/** A table that was thinned at each of its commits, as a run does. */
function tableAfter(commits: number, everyMs: number, retentionMs: number): IcebergTable {
  let table: IcebergTable = { location: LOCATION, snapshots: [] };
  for (let index = 1; index <= commits; index += 1) {
    const atMs = NOW_MS - (commits - index) * everyMs;
    const snapshot = {
      'snapshot-id': 2 ** 47 + index,
      'sequence-number': index,
      'timestamp-ms': atMs,
      'manifest-list': `${LOCATION}/metadata/snap-${2 ** 47 + index}.avro`,
    };
    table = thinned({ ...table, snapshots: [...table.snapshots, snapshot] }, atMs - retentionMs, atMs);
  }
  return table;
}

const agesInHours = ({ snapshots }: IcebergTable) =>
  snapshots.map((one) => (NOW_MS - one['timestamp-ms']) / HOUR_MS);

describe('the snapshots of a table', () => {
  it('are thinned: all of the last 24 hours stay, then the last of each day, up to the retention', () => {
    const ages = agesInHours(tableAfter(24 * 60, HOUR_MS, 30 * DAY_MS));
    const daily = Array.from({ length: 30 }, (_one, day) => 13 + 24 * (30 - day)).filter((age) => age > 23);
    const lastDay = Array.from({ length: 24 }, (_one, hour) => 23 - hour);
    expect(ages).toEqual([...daily, ...lastDay]);
  });

  it('stay if they are further apart than a day, as long as a reader of the retention needs them', () => {
    expect(agesInHours(tableAfter(10, 20 * DAY_MS, 30 * DAY_MS))).toEqual([40 * 24, 20 * 24, 0]);
  });
});
