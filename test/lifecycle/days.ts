/** A day in memory whose versions are replaced one after another, with its lifecycle rows. */
import type { Column } from '../../shared/column-types.ts';
import type { Committed, Lifecycle } from '../../shared/lake/documents/ledger.ts';
import type { BrandRoles } from '../../shared/lake/documents/brand-settings.ts';
import { versionKey } from '../../shared/lake/paths.ts';
import { readParquetRows } from '../../shared/lake/table/coded-columns.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { writeParquet } from '../../shared/lake/table/parquet.ts';
import type { LifecycleContext } from '../../shared/lifecycle/index.ts';
import { recordLifecycle } from '../../shared/lifecycle/index.ts';
import type { Replaced } from '../../shared/lifecycle/record-lifecycle.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { reports } from '../../shared/reports/index.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';

export const DAY = '2026-01-31';
const AMOUNT = 'decimal(38,9)';
const TYPES: Readonly<Record<string, Column['type']>> = { amount: AMOUNT, commission: AMOUNT };
const NAMES = [
  ...['transid', 'order_id', 'sku', 'type', 'publisher_id', 'publisher_name', 'currency', 'status'],
  ...['transaction_type', 'line', 'note', 'amount', 'commission', '_rescued'],
];

export const COLUMNS = NAMES.map(
  (name): Column => ({
    ...{ name, type: TYPES[name] ?? 'string' },
    ...(name.startsWith('_') ? {} : { field: name }),
  }),
);

/** The roles as a run has stored them. */
const STORED: BrandRoles = { fields: { order_id: null }, words: {} };

/** The time of the reading: `2026-02-01T10` means that it begins then and ends ten minutes later. */
export interface Step {
  at: string;
  records: readonly Row[];
  cause?: Replaced['cause'];
  /** Settings and stored roles from then on. */
  settings?: LifecycleContext['settings'];
  roles?: BrandRoles;
}

export interface Day {
  store: MemoryStore;
  events: Pick<LogEvent, 'event'>[];
  committed: Committed | undefined;
  /** Replaces the version. @returns the rows that it leaves, without NULLs, in the order of their keys */
  replace(step: Step): Promise<Row[]>;
  keyOf(lifecycle: Lifecycle | undefined): string;
}

/** @param most how many records are in memory */
export function lifecycleDay({ most, report = 'order_list' }: { most?: number; report?: string } = {}): Day {
  const store = memoryStore();
  const definition = reports[report];
  if (!definition) throw new Error(`there is no report ${report}`);
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  const day: Day = {
    store,
    events: [],
    committed: undefined,
    keyOf: (lifecycle) =>
      versionKey(definition.lifecycle?.table ?? '', 'acme', DAY, lifecycle?.snapshot ?? ''),
    async replace({ at, records, cause = 'reading', settings, roles }) {
      const readFrom = `${at}:00:00.000Z`;
      const end = new Date(Date.parse(readFrom) + 600_000);
      const snapshot = newId();
      const file = writeParquet(store.create(versionKey(definition.table, 'acme', DAY, snapshot)), COLUMNS);
      for (const record of records) await file.append(record);
      const { rows, bytes } = await file.finish();
      const { committed: before } = day;
      const isRead = cause === 'reading' || before === undefined;
      const after = {
        ...{ snapshot, rows, bytes, digest: snapshot, timeZone: 'America/New_York' },
        readFrom: isRead ? readFrom : before.readFrom,
        committedAt: end.toISOString(),
      } as Committed;
      const ctx = {
        ...{ brand: 'acme', report: definition, lake: { store }, newId },
        ...{ schema: { cached: async () => ({ columns: COLUMNS }) }, clock: { now: () => end } },
        stored: {
          of: async () => ({
            reports: {
              [report]: { ...(roles ?? STORED), states: { words: (roles ?? STORED).words } },
            },
          }),
        },
        log: (event: Pick<LogEvent, 'event'>) => day.events.push(event),
        ...(settings && { settings }),
      } as unknown as LifecycleContext;
      const lifecycle = await recordLifecycle(ctx, DAY, { before, after, cause }, most);
      day.committed = { ...after, ...(lifecycle && { lifecycle }) };
      return lifecycle ? rowsIn(store, day.keyOf(lifecycle)) : [];
    },
  };
  return day;
}

async function rowsIn(store: MemoryStore, key: string): Promise<Row[]> {
  const bytes = store.objects.get(key)?.body.length ?? 0;
  const rows = await Array.fromAsync(
    readParquetRows({ bytes, range: (from, to) => store.range(key, from, to) }),
  );
  const nameOf = (row: Row) => JSON.stringify([row.key, row.kind, row.publisher_id, row.currency]);
  return rows.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}
