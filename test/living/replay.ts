/**
 * Replays the table `changes`, which must explain every difference exactly. Its records, applied in order to the first
 * closed version of a day, must give each later version, and its counts and sums must match the versions.
 */
import type { Column } from '../../shared/column-types.ts';
import { isDeepStrictEqual } from 'node:util';
import { monthOf } from '../../shared/days.ts';
import { changesKey, monthPartition, partitionPath, snapshotKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import { changesTable } from '../../shared/history/change-rows.ts';
import type { Lake } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { BRAND } from '../simulation/contents.ts';
import { type RowTexts, scaleOf, textOfTexts, unlike } from '../simulation/forms.ts';
import type { Judge, SeenVersion } from './judge.ts';

export interface Replayed {
  /** The mismatches; an empty list is right. */
  findings: string[];
  /** The number of days that changed after they were closed, and of their changes. */
  days: number;
  changes: number;
}

/** A change, and its rows about records. */
interface ReadChange {
  summary: Row;
  sums: Row[];
  records: Row[];
}

export async function replayChanges(lake: Lake, judge: Judge): Promise<Replayed> {
  const replayed: Replayed = { findings: [], days: 0, changes: 0 };
  for (const report of Object.values(reports)) {
    const columns = await judge.columnsOf(report);
    const days = [...judge.seen].filter(([name]) => name.startsWith(`${report.table} `));
    for (const [name, versions] of days) {
      const closed = versions.filter(({ committed }) => committed.state !== 'open');
      const found = (text: string) => void replayed.findings.push(`${name}: ${text}`);
      const changes = await changesOf(lake, report, name.slice(report.table.length + 1), versions, found);
      if (changes.length > 0) replayed.days += 1;
      replayed.changes += changes.length;
      replayDay(closed, changes, columns, found);
    }
  }
  return replayed;
}

async function changesOf(
  lake: Lake,
  report: ReportDefinition,
  day: string,
  versions: readonly SeenVersion[],
  found: (text: string) => void,
): Promise<ReadChange[]> {
  const named = versions.at(-1)?.committed.changes;
  if (!named) return [];
  const stored = await lake.store.get(changesKey(BRAND, report.name, day, named.snapshot));
  if (!stored) {
    found(`the changes ${named.snapshot} are missing`);
    return [];
  }
  const rows = await Array.fromAsync(readWithParquetjs(stored.body, changesTable.columns));
  const month = monthPartition(BRAND, report.name, monthOf(day));
  const current = await lake.catalog?.snapshotsByPartition(changesTable.name, month);
  const [snapshot = ''] = current?.get(partitionPath(month)) ?? [];
  const table = await lake.store.get(snapshotKey(changesTable.name, month, snapshot));
  const inTable = table ? await Array.fromAsync(readWithParquetjs(table.body, changesTable.columns)) : [];
  if (
    !isDeepStrictEqual(
      inTable.filter(({ dt }) => dt === day),
      rows,
    )
  )
    found(`the table has other changes than ${named.snapshot}`);
  const changes = [...Map.groupBy(rows, ({ change_id }) => change_id).values()].flatMap((all) => {
    const [summary, ...more] = all.filter(({ what }) => what === 'day');
    if (!summary || more.length > 0)
      found(`${all.length} rows of one change with ${more.length + 1} summaries`);
    const sums = all.filter(({ what }) => what === 'sum');
    const records = all.filter(({ what }) => what !== 'day' && what !== 'sum');
    return summary ? [{ summary, sums, records }] : [];
  });
  const ofContent = changes.filter(({ summary: { added, removed, altered } }) => {
    return added !== 0n || removed !== 0n || altered !== 0n;
  });
  if (ofContent.length !== named.times) found(`${ofContent.length} changes, the ledger has ${named.times}`);
  return changes;
}

function replayDay(
  versions: readonly SeenVersion[],
  changes: readonly ReadChange[],
  columns: readonly Column[],
  found: (text: string) => void,
): void {
  const explained = changes.map(({ summary }) => `${summary.previous_id} → ${summary.change_id}`);
  const happened = versions
    .slice(1)
    .map(({ committed }, index) => `${versions[index]?.committed.snapshot} → ${committed.snapshot}`);
  if (explained.join() !== happened.join()) {
    found(`explains ${explained}, but the versions changed by ${happened}`);
    return;
  }
  let current: readonly RowTexts[] = versions[0]?.texts ?? [];
  let before = Number.NEGATIVE_INFINITY;
  for (const [index, change] of changes.entries()) {
    const [old, next] = [versions[index], versions[index + 1]];
    if (!old || !next) continue;
    const at = `change ${String(change.summary.change_id)}`;
    const wrong = (text: string) => found(`${at}: ${text}`);
    const changedMs =
      change.summary.changed_at instanceof Date ? change.summary.changed_at.getTime() : Number.NaN;
    if (!(changedMs > before)) wrong(`at ${changedMs} is not after ${before}`);
    before = changedMs;
    checkCounts(change, old, next, wrong);
    checkSums(change, old, next, columns, wrong);
    current = change.summary.listed === true ? applied(current, change.records, wrong) : next.texts;
    const { missing, surplus } = unlike(next.texts.map(textOfTexts), current.map(textOfTexts));
    if (missing.length > 0) wrong(`does not lead to ${missing.join('; ')}`);
    if (surplus.length > 0) wrong(`leads to ${surplus.join('; ')}`);
  }
}

function checkCounts(
  { summary, records }: ReadChange,
  old: SeenVersion,
  next: SeenVersion,
  wrong: (text: string) => void,
): void {
  const expected = [BigInt(old.rows.length), BigInt(next.rows.length)].join();
  if ([summary.rows_before, summary.rows_after].join() !== expected)
    wrong(`has ${summary.rows_before} rows that became ${summary.rows_after} instead of ${expected}`);
  if (BigInt(next.rows.length - old.rows.length) !== count(summary.added) - count(summary.removed))
    wrong(`${summary.added} added and ${summary.removed} removed do not add up`);
  if (summary.listed !== true) return;
  const copies = (what: string) =>
    records.filter((row) => row.what === what).reduce((sum, row) => sum + count(row.copies), 0n);
  const altered = new Set(records.filter(({ what }) => what === 'altered').map(({ key }) => key)).size;
  const listed = [copies('added'), copies('removed'), altered].join();
  if (listed !== [summary.added, summary.removed, summary.altered].join())
    wrong(
      `lists ${listed} as added, removed, altered, but counts ${[summary.added, summary.removed, summary.altered]}`,
    );
}

function checkSums(
  { sums }: ReadChange,
  old: SeenVersion,
  next: SeenVersion,
  columns: readonly Column[],
  wrong: (text: string) => void,
): void {
  const listed = new Map(sums.map((row) => [row.column_name, row]));
  for (const { name, type } of columns) {
    if (type !== 'bigint' && !type.startsWith('decimal')) continue;
    const expected = [old, next].map(({ texts }) => sumOf(texts, name, scaleOf(type)));
    const { old_value, new_value } = listed.get(name) ?? {};
    if ([old_value, new_value].map(String).join() !== expected.map(String).join())
      wrong(`the sums of ${name} are ${old_value} and ${new_value} instead of ${expected}`);
    listed.delete(name);
  }
  if (listed.size > 0) wrong(`has sums of ${[...listed.keys()]}`);
}

/** The sum as text with all places; `undefined` if no row has a value. */
function sumOf(rows: readonly RowTexts[], column: string, scale: number): string | undefined {
  const texts = rows.flatMap((row) => row.get(column) ?? []);
  if (texts.length === 0) return undefined;
  const sum = texts.reduce((total, text) => total + BigInt(text.replace('.', '')), 0n);
  if (scale === 0) return String(sum);
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function applied(
  before: readonly RowTexts[],
  records: readonly Row[],
  wrong: (text: string) => void,
): RowTexts[] {
  const left = new Map<string, RowTexts[]>();
  for (const row of before) left.set(textOfTexts(row), [...(left.get(textOfTexts(row)) ?? []), row]);
  for (const row of records.filter(({ what }) => what === 'removed')) {
    const removed = left.get(textOfTexts(recordOf(row)));
    for (let copy = 0n; copy < count(row.copies); copy += 1n)
      if (!removed?.pop()) wrong(`removes a missing record: ${String(row.record)}`);
  }
  const rows = [...left.values()].flat();
  const byKey = Map.groupBy(
    records.filter(({ what }) => what === 'altered'),
    ({ key }) => String(key),
  );
  const keys = ['id', 'transid'];
  const altered = rows.map((row) => {
    const key = keys.flatMap((column) => row.get(column) ?? [])[0];
    const changes = byKey.get(key ?? '');
    if (!changes) return row;
    byKey.delete(key ?? '');
    const next = new Map(row);
    for (const { column_name, old_value, new_value } of changes) {
      const column = String(column_name);
      if (old_value !== row.get(column))
        wrong(`${key}: ${column} was ${row.get(column)}, not ${String(old_value)}`);
      if (typeof new_value === 'string') next.set(column, new_value);
      else next.delete(column);
    }
    return next;
  });
  if (byKey.size > 0) wrong(`alters missing records: ${[...byKey.keys()]}`);
  const added = records
    .filter(({ what }) => what === 'added')
    .flatMap((row) => Array.from({ length: Number(row.copies) }, () => recordOf(row)));
  return [...altered, ...added];
}

function recordOf({ record }: Row): RowTexts {
  const parsed: unknown = JSON.parse(String(record));
  return new Map(Object.entries(parsed ?? {}).map(([column, text]) => [column, String(text)]));
}

function count(value: Row[string]): bigint {
  return typeof value === 'bigint' ? value : 0n;
}
