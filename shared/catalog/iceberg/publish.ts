/*
 * Projects the ledgers of a report onto its Iceberg table: the snapshot of a commit names the files that the ledgers of all
 * brands name now. The ledgers are the truth, and no Parquet file is opened here. Like a ledger, a manifest covers the month
 * of a brand, and it passes from snapshot to snapshot while the month has the same files.
 *
 * I3: a reader sees all days of a commit at once, or none of them. A commit reads the table first and the ledgers after it,
 * so its snapshot is never older than the snapshot that it replaces. If another run is faster, the commit begins again
 * (I5). A run that dies leaves its months without due times in the report state, and the next run projects them.
 */
import { hash } from 'node:crypto';
import { DAY_PARTITION_KEYS } from '../../base/column-types.ts';
import { mapConcurrent } from '../../base/concurrency.ts';
import type { BrandReport, ReportIceberg } from '../../context/context.ts';
import { DAY_MS } from '../../base/days.ts';
import { BrandReportsError } from '../../base/errors.ts';
import { undamaged } from '../../lake/cas-document.ts';
import { tableColumns } from '../../lake/described-columns.ts';
import type { Ledger } from '../../lake/ledger.ts';
import { listLedgers, readLedger } from '../../lake/read.ts';
import { icebergLocation, icebergMetadataPrefix, versionKey } from '../../lake/paths.ts';
import type { IcebergHead } from '../../ports.ts';
import {
  type DataFile,
  type Manifest,
  manifestBytes,
  manifestListBytes,
  readManifests,
  storedManifests,
} from './manifests.ts';
import {
  type IcebergTable,
  type Snapshot,
  type TableSchema,
  manifestMetadata,
  metadataBytes,
  parseMetadata,
  schemaOf,
  thinned,
} from './metadata.ts';

const CONCURRENCY = 8;
/** Each lost race means that another run has committed. */
const MAX_ROUNDS = 20;
const PAUSE_MS = 25;

type IcebergReport = BrandReport & { iceberg: ReportIceberg };

interface BrandMonth {
  brand: string;
  month: string;
  files: readonly DataFile[];
}

interface Commit {
  snapshotId: number;
  sequence: number;
  schema: TableSchema;
}

/** The months of a brand that may differ from the table. */
export interface IcebergChange {
  of: BrandReport;
  months: readonly string[];
}

/**
 * Commits these months of a report in one snapshot. If the table does not exist or is not ours, it commits all months of
 * all brands. Without a difference it writes nothing.
 * @param changes `all`: the months of all brands
 * @param mode `expire`: also drop snapshots whose time is over if there is nothing else to commit. `anew`: start the table
 * again with the current files and delete all earlier metadata; readers see one change
 * @throws BrandReportsError if the table cannot be written; what is committed in the ledgers is safe
 */
export async function publishIceberg(
  context: BrandReport,
  changes: readonly IcebergChange[] | 'all',
  mode?: 'expire' | 'anew',
): Promise<void> {
  const { iceberg, report, clock, lake } = context;
  const isEmpty = changes !== 'all' && changes.every(({ months }) => months.length === 0);
  if (!iceberg || (isEmpty && !mode)) return;
  const ctx = { ...context, iceberg };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // Listed before the table is read: a commit that builds on the table names none of these objects.
    const prefix = icebergMetadataPrefix(report.table);
    const old = mode === 'anew' ? await Array.fromAsync(lake.store.list(prefix), ({ key }) => key) : [];
    if (mode === 'anew' && old.length === 0) return;
    const head = await iceberg.catalog.load(report.table);
    const { table, manifests: before = [] } = (mode !== 'anew' && (await tableIn(ctx, head))) || {};
    const manifestsOf = new Map(before.map((manifest) => [idOf(manifest), manifest]));
    const changed = await changedMonths(ctx, manifestsOf, table ? changes : 'all');
    if (changed.length === 0 && !mode) return;
    const columns = tableColumns(report, await ctx.schema.refresh());
    const schema = schemaOf(columns);
    const grown =
      changed.length > 0 || mode === 'anew'
        ? await withCommit(ctx, table, schema, manifestsOf, changed)
        : table;
    const next = grown && thinned(grown, clock.earlierMs() - iceberg.keptMs, clock.earlierMs());
    if (!next || next === table) return;
    const { table: name, description } = report;
    const shape = { name, description, columns, partitionKeys: DAY_PARTITION_KEYS };
    if (await head.replace(metadataBytes(next, schema, clock.wallMs()), shape))
      return lake.store.delete(old.filter((key) => !key.endsWith('.text')));
    await clock.sleep(PAUSE_MS * (round + 1));
  }
  throw new BrandReportsError(
    'transient',
    'iceberg_contended',
    `Other runs committed to the Iceberg table ${report.table} ${MAX_ROUNDS} times in a row while this run tried to. What was read is safe. Run again.`,
  );
}

/**
 * The table and the manifests of its last snapshot, if this program has written it at this very place. Otherwise, as after
 * a move of the lake or a commit by somebody else, the table begins anew with the current rows.
 */
async function tableIn(ctx: IcebergReport, { metadata }: IcebergHead) {
  const table = metadata && ifReadable(parseMetadata, metadata);
  if (table?.location !== locationOf(ctx)) return undefined;
  const manifests = await readAt(ctx, manifestsAt(table.snapshots.at(-1)), readManifests);
  return manifests && { table, manifests };
}

/** The table with a snapshot in which these months have their current files. Readers do not see it yet. */
async function withCommit(
  ctx: IcebergReport,
  table: IcebergTable | undefined,
  schema: TableSchema,
  before: ManifestsByMonth,
  changed: readonly BrandMonth[],
): Promise<IcebergTable> {
  const { location, snapshots } = table ?? { location: locationOf(ctx), snapshots: [] };
  const last = snapshots.at(-1);
  const commit = {
    snapshotId: 1 + Number.parseInt(hash('sha256', ctx.newId(), 'hex').slice(0, 12), 16),
    sequence: (last?.['sequence-number'] ?? 0) + 1,
    schema,
  };
  const filled = changed.filter(({ files }) => files.length > 0);
  const written = await mapConcurrent(filled, CONCURRENCY, (month) => writeManifest(ctx, commit, month));
  const replaced = new Set(changed.map(idOf));
  const others = [...before].filter(([id]) => !replaced.has(id)).map(([, manifest]) => manifest);
  const manifests = [...others, ...written];
  const name = `snap-${commit.snapshotId}`;
  await put(ctx, `${name}.json.gz`, storedManifests(manifests));
  const list = await put(ctx, `${name}.avro`, manifestListBytes(manifests, commit.snapshotId));
  const next = {
    'snapshot-id': commit.snapshotId,
    'sequence-number': commit.sequence,
    'timestamp-ms': Math.max(ctx.clock.wallMs(), (last?.['timestamp-ms'] ?? 0) + 1),
    'manifest-list': list,
  };
  return { location, snapshots: [...snapshots, next] };
}

function locationOf({ iceberg, report }: IcebergReport): string {
  return `${iceberg.catalog.url}/${icebergLocation(report.table)}`;
}

/** The months whose files differ from their manifest. Ledgers are read again only for such months. */
async function changedMonths(
  ctx: IcebergReport,
  before: ManifestsByMonth,
  changes: readonly IcebergChange[] | 'all',
): Promise<BrandMonth[]> {
  const isChanged = (month: BrandMonth) => {
    const manifest = before.get(idOf(month));
    const isSame = manifest && nameIn(manifest.path).startsWith(`${nameOf(month)}-`);
    return !isSame && (month.files.length > 0 || manifest !== undefined);
  };
  if (changes === 'all') return (await allMonths(ctx, before)).filter(isChanged);
  const read = async ({ brand }: BrandReport, month: string, ledger: Promise<Ledger>) => {
    const found = { brand, month, files: filesOf(ctx, brand, await ledger) };
    return isChanged(found) ? [found] : [];
  };
  const fresh = changes.flatMap(({ of, months }) =>
    months.map(async (month) => {
      const ledger = of.ledger(month);
      const cached = await read(of, month, ledger.cached());
      return cached.length === 0 ? [] : read(of, month, ledger.refresh());
    }),
  );
  return (await Promise.all(fresh)).flat();
}

/**
 * The months of all brands that have a ledger, whatever the current settings are, and the months that have lost their
 * ledger. A month with a damaged ledger is left out: its manifest stays, and after a restore the brand's own run
 * commits it.
 */
async function allMonths(ctx: IcebergReport, before: ManifestsByMonth): Promise<BrandMonth[]> {
  const { lake, report } = ctx;
  const listed = await listLedgers(lake.store, { [report.name]: report });
  const all = listed.flatMap(({ brand, months }) => months.map((month) => ({ brand, month })));
  const listedIds = new Set(all.map(idOf));
  const lost = [...before.values()].filter((manifest) => !listedIds.has(idOf(manifest)));
  const read = await mapConcurrent(all, CONCURRENCY, async ({ brand, month }) => {
    const ledger = await undamaged(readLedger(lake.store, report, brand, month));
    return ledger ? [{ brand, month, files: filesOf(ctx, brand, ledger) }] : [];
  });
  return [...read.flat(), ...lost.map(({ brand, month }) => ({ brand, month, files: [] }))];
}

/** A version without rows is left out: some readers refuse an empty file. */
function filesOf({ iceberg, report }: IcebergReport, brand: string, { days }: Ledger): DataFile[] {
  return Object.entries(days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([dt, { committed }]) => {
      if (!committed || committed.rows === 0) return [];
      const { snapshot, rows, bytes } = committed;
      const file: DataFile = {
        content: 0,
        file_path: `${iceberg.catalog.url}/${versionKey(report.table, brand, dt, snapshot)}`,
        file_format: 'PARQUET',
        partition: { brand, dt },
        record_count: rows,
        file_size_in_bytes: bytes,
      };
      return [file];
    });
}

type ManifestsByMonth = ReadonlyMap<string, Manifest>;

/** The names of the manifests of a month begin with it. */
function idOf({ brand, month }: Pick<BrandMonth, 'brand' | 'month'>): string {
  return `${brand}-${month}`;
}

function nameOf({ files, ...of }: BrandMonth): string {
  const paths = files.map(({ file_path }) => file_path).join('\n');
  return `${idOf(of)}-${hash('sha256', paths, 'hex').slice(0, 16)}`;
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The address of what the next commit reads in place of the manifest list of this snapshot. */
function manifestsAt(snapshot: Snapshot | undefined): string {
  return snapshot?.['manifest-list'].replace(/\.avro$/, '.json.gz') ?? '';
}

async function writeManifest(
  ctx: IcebergReport,
  { snapshotId, sequence, schema }: Commit,
  month: BrandMonth,
): Promise<Manifest> {
  const { files } = month;
  const content = manifestBytes(files, snapshotId, manifestMetadata(schema));
  const dayOf = (file: DataFile | undefined) => file?.partition.dt ?? '';
  return {
    ...{ brand: month.brand, month: month.month, snapshotId, sequence },
    path: await put(ctx, `${nameOf(month)}-${snapshotId}.avro`, content),
    bytes: content.length,
    files: files.length,
    rows: files.reduce((sum, { record_count }) => sum + record_count, 0),
    firstDay: dayOf(files[0]),
    lastDay: dayOf(files.at(-1)),
  };
}

/** @returns `undefined` if it is missing or damaged, or if `put` did not return the address */
async function readAt<T>(
  { iceberg, lake, report }: IcebergReport,
  address: string,
  read: (content: Uint8Array) => T,
): Promise<T | undefined> {
  const key = `${icebergMetadataPrefix(report.table)}${nameIn(address)}`;
  const stored = address === `${iceberg.catalog.url}/${key}` ? await lake.store.get(key) : undefined;
  return stored && ifReadable(read, stored.body);
}

function ifReadable<T>(read: (content: Uint8Array) => T, content: Uint8Array): T | undefined {
  try {
    return read(content);
  } catch {
    return undefined;
  }
}

async function put(ctx: IcebergReport, name: string, content: Uint8Array): Promise<string> {
  const key = `${icebergMetadataPrefix(ctx.report.table)}${name}`;
  await ctx.lake.store.put(key, content, { ifAbsent: true });
  return `${ctx.iceberg.catalog.url}/${key}`;
}

/*
 * Deletes metadata of an Iceberg table that no snapshot since yesterday needs: a reader may have opened the table a day ago.
 * An earlier commit has already dropped the older snapshots from the metadata.
 */

/** The names that this program gives; other objects there are left alone. */
const METADATA = /^v\d+(-[0-9a-f]{16})?\.metadata\.json$/;
const OTHERS = /^(snap-\d+\.(avro|json\.gz)|.+-\d{4}-\d\d-[0-9a-f]{16}-\d+\.avro)$/;

/**
 * Keeps the newest metadata that is a day old and all newer objects. It also keeps the objects that snapshots from before
 * the last 24 hours of that metadata name: every object of a later snapshot was written after the last of these or taken
 * from it. Objects of thinned snapshots, and of failed commits, are deleted.
 */
export async function vacuumIceberg(context: BrandReport): Promise<void> {
  const { iceberg, lake, report, clock } = context;
  if (!iceberg) return;
  const prefix = icebergMetadataPrefix(report.table);
  const objects = await Array.fromAsync(lake.store.list(prefix), ({ key, modifiedAt }) => ({
    name: nameIn(key),
    key,
    writtenMs: modifiedAt.getTime(),
  }));
  const yesterdayMs = clock.earlierMs() - DAY_MS;
  const yesterday = objects
    .filter(({ name, writtenMs }) => METADATA.test(name) && writtenMs <= yesterdayMs)
    .toSorted((a, b) => a.writtenMs - b.writtenMs)
    .at(-1);
  if (!yesterday) return;
  const ctx = { ...context, iceberg };
  const addressOf = (key: string) => `${iceberg.catalog.url}/${key}`;
  const { snapshots = [] } = (await readAt(ctx, addressOf(yesterday.key), parseMetadata)) ?? {};
  const before = snapshots.filter(
    (one, index) => index === 0 || one['timestamp-ms'] <= yesterday.writtenMs - DAY_MS,
  );
  const named = new Set<string>();
  for (const snapshot of before) {
    const address = manifestsAt(snapshot);
    const manifests = await readAt(ctx, address, readManifests);
    if (!manifests) return;
    for (const key of [snapshot['manifest-list'], address, ...manifests.map(({ path }) => path)])
      named.add(key);
  }
  // The clock of the store may differ from the clock that dated the snapshot.
  const sinceMs = (before.at(-1)?.['timestamp-ms'] ?? 0) - DAY_MS;
  const isGarbage = ({ key, name, writtenMs }: (typeof objects)[number]) =>
    METADATA.test(name)
      ? writtenMs < yesterday.writtenMs
      : OTHERS.test(name) && writtenMs < sinceMs && !named.has(addressOf(key));
  const keys = objects.filter(isGarbage).map(({ key }) => key);
  if (keys.length > 0) await lake.store.delete(keys);
}
