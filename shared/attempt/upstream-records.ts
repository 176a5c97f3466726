import { BrandReportsError } from '../errors.ts';
import type { Slice } from '../lake/documents/progress.ts';
import { versionKey } from '../lake/paths.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import type { Lookup, ReportDefinition, UpstreamRecord } from '../reports/definition.ts';
import type { BrandReport } from '../context/context.ts';

/** The records of the slice's upstream snapshot, by key. @throws BrandReportsError `contract` if it is missing or damaged */
export async function upstreamRecords(
  ctx: BrandReport,
  day: string,
  { upstream }: Slice,
  lookup: Lookup,
): Promise<Map<string, UpstreamRecord>> {
  const { store } = ctx.lake;
  if (!upstream || !ctx.upstream) return new Map();
  const key = versionKey(ctx.upstream.report.table, ctx.brand, day, upstream.snapshot);
  const file = fileIn(store, { key, bytes: upstream.bytes });
  const optional = lookup.optional.map(({ column }) => column);
  const records = new Map<string, UpstreamRecord>();
  const { readParquetRows } = await loadCodedFile();
  try {
    for await (const row of readParquetRows(file, [lookup.key.column, ...optional])) {
      const value = row[lookup.key.column];
      if (typeof value !== 'string' || value === '') continue;
      const present = optional.flatMap((column) => {
        const text = row[column];
        return typeof text === 'string' ? [[column, text] as const] : [];
      });
      records.set(value, { key: value, optional: Object.fromEntries(present) });
    }
  } catch (thrown) {
    throw damagedSnapshot(thrown, key, ctx.upstream.report, day);
  }
  return records;
}

/** @throws if the store fails */
function damagedSnapshot(thrown: unknown, key: string, { name }: ReportDefinition, day: string): Error {
  const message = damageOf(thrown);
  const advice = `To read the day again: brand-reports sync ${name} --from ${day} --to ${day}`;
  const found = `${key} cannot be read: ${message}. ${advice}`;
  return new BrandReportsError('contract', 'damaged_snapshot', found, { cause: thrown });
}
