/** Judges a lake after the plain runs: by the service's records, by the lake's own documents, and by its leftovers. */
import { gunzipSync } from 'node:zlib';
import { DAY_MS } from '../../shared/base/days.ts';
import {
  brandPartitions,
  brandRawPrefix,
  parseDayKey,
  partitionPrefix,
  snapshotOfKey,
} from '../../shared/lake/paths.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { BRAND, type Entries, ledgerEntries, wrongPointers } from '../simulation/contents.ts';
import { type Watched, compare } from './watch.ts';
import { daysOf } from './world.ts';

interface Judged extends Watched {
  /** The output of all runs. */
  said: readonly string[];
}

export async function judgeLake(judged: Judged): Promise<void> {
  for (const report of judged.world.reports) {
    const entries = await ledgerEntries(judged.lake.store, report.name);
    await judgeDays(judged, report, entries);
    await judgeCoverage(judged, report, entries);
    await judgeLeftovers(judged, report, entries);
  }
  await judgeSecrets(judged);
}

async function judgeDays(judged: Judged, report: ReportDefinition, entries: Entries): Promise<void> {
  const { world, lake, watch } = judged;
  // If the service never returned a record, no day settles.
  const isVerified = [...entries.values()].some(({ committed }) => (committed?.rows ?? 0) > 0);
  for (const day of daysOf(world)) {
    const name = `at the end ${report.name} ${day}`;
    const { committed, claim, failure, disregarded } = entries.get(day) ?? {};
    if (!committed) {
      watch.report('lost', `${name}: never committed`);
      continue;
    }
    const isOver = committed.state === 'settled' || (committed.state === 'closed' && !isVerified);
    if (!isOver || claim || failure)
      watch.report('other', `${name}: not settled ${JSON.stringify({ ...committed, claim, failure })}`);
    // The service has dropped records that can no longer change: the version has them.
    if (disregarded) continue;
    try {
      await compare(judged, name, { report, day, snapshot: committed.snapshot });
    } catch (thrown) {
      watch.report('lost', `${name}: ${String(thrown)}`);
    }
  }
  for (const wrong of await wrongPointers(lake, report, entries)) watch.report('other', wrong);
}

async function judgeCoverage(
  { world, lake, watch }: Judged,
  report: ReportDefinition,
  entries: Entries,
): Promise<void> {
  const covered = new Map<string, string>();
  const leading = brandPartitions(BRAND);
  for (const [path, [snapshot = '']] of await lake.catalog.snapshotsByPartition('coverage', leading)) {
    const key = `snapshots/coverage/${path}/${snapshot}/part-0000.parquet`;
    const stored = await lake.store.get(key);
    if (!stored) {
      watch.report('torn', `at the end coverage ${path}: ${key} is missing`);
      continue;
    }
    const range = async (start: number, end: number) => stored.body.slice(start, end);
    for await (const row of readParquetRows({ bytes: stored.body.length, range }, ['report', 'dt', 'digest']))
      if (row.report === report.name) covered.set(String(row.dt), String(row.digest));
  }
  for (const day of daysOf(world)) {
    const committed = entries.get(day)?.committed?.digest;
    if (committed !== covered.get(day))
      watch.report(
        'other',
        `at the end ${report.name} ${day}: coverage has ${covered.get(day)}, the ledger ${committed}`,
      );
  }
}

/** The vacuum has had days: an unreferenced object that is older than its grace and a day would stay forever. */
async function judgeLeftovers(
  { time, lake, watch }: Judged,
  report: ReportDefinition,
  entries: Entries,
): Promise<void> {
  const isOlderThan = (days: number, at: Date) => time.nowMs - at.getTime() > days * DAY_MS;
  const snapshots = partitionPrefix(report.table, brandPartitions(BRAND));
  for await (const { key, modifiedAt } of lake.store.list(snapshots)) {
    const { day = '', id = '' } = parseDayKey(snapshots, key) ?? {};
    // A day of grace, a day until a vacuum forgets the object, and a day until the next vacuum deletes it.
    if (isOlderThan(4.5, modifiedAt) && entries.get(day)?.committed?.snapshot !== id)
      watch.report('leaked', `${key} of ${modifiedAt.toISOString()}`);
  }
  const raw = brandRawPrefix(report.name, BRAND);
  for await (const { key, modifiedAt } of lake.store.list(raw)) {
    const { day = '', id = '' } = parseDayKey(raw, key) ?? {};
    const { committed, claim } = entries.get(day) ?? {};
    if (isOlderThan(8.5, modifiedAt) && committed?.attempt !== id && claim?.attempt !== id)
      watch.report('leaked', `${key} of ${modifiedAt.toISOString()}`);
  }
  const leading = brandPartitions(BRAND);
  const published = await lake.catalog.snapshotsByPartition('coverage', leading);
  const current = new Set([...published.values()].flat());
  for await (const { key, modifiedAt } of lake.store.list(partitionPrefix('coverage', leading)))
    if (isOlderThan(2.5, modifiedAt) && !current.has(snapshotOfKey(key) ?? ''))
      watch.report('leaked', `${key} of ${modifiedAt.toISOString()}`);
}

/** I9: no credential is in an object, a log or an outcome. */
async function judgeSecrets({ world, lake, watch, said }: Judged): Promise<void> {
  const hasSecret = (text: string) => [...world.secrets].some((secret) => text.includes(secret));
  for (const text of said)
    if (hasSecret(text)) watch.report('leaked', `a credential is in the output of a run: ${text}`);
  for await (const { key } of lake.store.list('')) {
    const stored = await lake.store.get(key);
    if (!stored) continue;
    const bytes = key.endsWith('.gz') ? gunzipSync(stored.body) : stored.body;
    if (hasSecret(Buffer.from(bytes).toString('latin1'))) watch.report('leaked', `a credential is in ${key}`);
  }
}
