/** A day in memory whose versions are replaced one after another, with what its records were before. */
import { runClock } from '../../shared/context/context.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { historyAfter } from '../../shared/history/index.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import type { Committed, DayEntry } from '../../shared/lake/ledger.ts';
import { beforeTable, versionKey } from '../../shared/lake/paths.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import type { Row } from '../../shared/table/columns.ts';
import { readContent } from '../../shared/lake/read-content.ts';
import type { ReportSettings } from '../../shared/settings/settings.ts';
import { orders as report } from '../../shared/reports/orders.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { parquetOf, readable } from '../table/parquet-files.ts';
import { readAt } from '../planning/entries.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

export const DAY = '2026-03-09';
export const BEGUN_MS = Date.parse('2026-03-10T06:00:00Z');
export const HOUR = 3_600_000;

export interface Step {
  rows: Iterable<Row>;
  cause?: 'reading' | 'rollback' | 'rebuild';
  state?: Committed['state'];
  settings?: { key?: string | string[]; fields: ReportSettings['fields'] };
}

export async function dayOf(columns: readonly Column[]) {
  const store = memoryStore();
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  const clock = runClock({
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep: async () => {},
    every: () => () => {},
  });
  const schema = createLakeDocuments({ store, newId, clock, random: () => 0 }).schema(report);
  await schema.update((stored) => {
    const own = columns.filter(({ name }) => !stored.columns.some((known) => known.name === name));
    return { ...stored, columns: [...stored.columns, ...own] };
  });
  const events: { event: string }[] = [];
  const day = {
    store,
    events,
    schema,
    nowMs: BEGUN_MS,
    entry: {} as Pick<DayEntry, 'lastPlace' | 'lastBy'>,
    committed: undefined as Committed | undefined,
    /** A reading that begins an hour later and ends ten minutes after that. */
    async replaceBy({ rows, cause = 'reading', state = 'closed', settings }: Step): Promise<void> {
      day.nowMs += HOUR;
      const snapshot = newId();
      const { columns: all } = await schema.cached();
      const bytes = await parquetOf(all, rows);
      await store.put(versionKey(report.table, 'acme', DAY, snapshot), bytes, { ifAbsent: true });
      const content = { snapshot, ...(await readContent(readable(bytes))), state };
      const after = readAt(new Date(day.nowMs).toISOString(), content).committed;
      const ctx = {
        ...{ brand: 'acme', report, lake: { store, runs: blindRegistry }, schema, newId, clock },
        stored: { of: async () => undefined },
        log: (event: { event: string }) => void events.push(event),
        ...(settings && { settings }),
      } as unknown as Parameters<typeof historyAfter>[0];
      const { committed: before } = day;
      const endedMs = day.nowMs + 600_000;
      const history = await historyAfter(ctx, DAY, day.entry, { before, after, cause, endedMs });
      day.committed = { ...after, ...(history && { history }) };
    },
    bytes: async () => (await bytesOf(report.table, day.committed?.snapshot)) ?? new Uint8Array(),
    bytesBefore: () => bytesOf(beforeTable(report.table), day.committed?.history?.object?.snapshot),
    before: async (): Promise<Row[]> => {
      const bytes = await day.bytesBefore();
      return bytes ? Array.fromAsync(readParquetRows(readable(bytes))) : [];
    },
    keyOfObject: () =>
      versionKey(beforeTable(report.table), 'acme', DAY, day.committed?.history?.object?.snapshot ?? ''),
  };
  async function bytesOf(table: string, snapshot: string | undefined): Promise<Uint8Array | undefined> {
    return snapshot === undefined
      ? undefined
      : (await store.get(versionKey(table, 'acme', DAY, snapshot)))?.body;
  }
  return day;
}
