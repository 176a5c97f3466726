import { hash } from 'node:crypto';
import { forEachConcurrent } from '../concurrency.ts';
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import { type Json, type JsonObject, stringifyJson } from '../json.ts';
import type { SlicePart, Slice } from '../lake/documents/progress.ts';
import { attemptPrefix, dayPartition, snapshotKey } from '../lake/paths.ts';
import { readParquetRows } from '../lake/table/parquet.ts';
import type { Lookup } from '../reports/definition.ts';
import { type UpstreamRecord, lookUp } from '../service/lookup.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
import { type StagedPage, primaryKeyOf, readChunk } from './stage.ts';

const KEYS_PER_PAGE = 50;

/**
 * The records of a report that looks up another report's records one by one (docs/interface.md, section 4.2). A page
 * is what the service knows about 50 of them, looked up concurrently; its cursor counts those that are done.
 */
export async function* lookedUpPages(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  lookup: Lookup,
): AsyncGenerator<StagedPage> {
  const known = await keysLookedUp(ctx, attempt, lookup);
  const upstream = (await upstreamRecords(ctx, attempt.day, slice, lookup)).filter(
    ({ key }) => !known.has(key),
  );
  for (let done = Number(part.cursor ?? 0); done < upstream.length || done === 0; done += KEYS_PER_PAGE) {
    const batch = upstream.slice(done, done + KEYS_PER_PAGE);
    const records = await lookUpAll(ctx, lookup, batch);
    const next = done + KEYS_PER_PAGE < upstream.length ? done + KEYS_PER_PAGE : null;
    const cursor: Json = done;
    yield { records, cursor, next, hash: hash('sha256', stringifyJson(records), 'hex'), seen: String(done) };
    if (next === null) return;
  }
}

async function lookUpAll(
  ctx: RunContext,
  lookup: Lookup,
  upstream: readonly UpstreamRecord[],
): Promise<JsonObject[]> {
  const found = new Map<string, JsonObject[]>();
  await forEachConcurrent(upstream, ctx.daysInFlight, async (record) => {
    found.set(record.key, await lookUpOne(ctx, lookup, record));
  });
  return upstream.flatMap(({ key }) => found.get(key) ?? []);
}

async function lookUpOne(ctx: RunContext, lookup: Lookup, upstream: UpstreamRecord): Promise<JsonObject[]> {
  try {
    return await lookUp(ctx.service, ctx.report.action, lookup, upstream);
  } catch (thrown) {
    const { kind, code, message, context } = rethrowBugs(thrown);
    throw new BrandReportsError(kind, code, `${message} (looking up ${ctx.service.quote(upstream.key)})`, {
      context,
    });
  }
}

/** The records of the upstream snapshot that the slice was planned from, each key once. @throws where that snapshot is gone */
async function upstreamRecords(
  ctx: RunContext,
  day: string,
  { upstream }: Slice,
  lookup: Lookup,
): Promise<UpstreamRecord[]> {
  const { store } = ctx.lake;
  if (!upstream || !ctx.upstream) return [];
  const key = snapshotKey(ctx.upstream.table, dayPartition(ctx.brand, day), upstream.snapshot);
  const file = { bytes: upstream.bytes, range: (start: number, end: number) => store.range(key, start, end) };
  const optional = lookup.optional.map(({ column }) => column);
  const records = new Map<string, UpstreamRecord>();
  for await (const row of readParquetRows(file, [lookup.key.column, ...optional])) {
    const value = row[lookup.key.column];
    if (typeof value !== 'string' || value === '') continue;
    const present = optional.flatMap((column) => {
      const text = row[column];
      return typeof text === 'string' ? [[column, text] as const] : [];
    });
    records.set(value, { key: value, optional: Object.fromEntries(present) });
  }
  return [...records.values()];
}

/** The keys that earlier slices of the day have looked up. */
async function keysLookedUp(
  ctx: RunContext,
  { day, id, progress }: Attempt,
  { answerField }: Lookup,
): Promise<Set<string>> {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, id);
  const { slices } = await progress.cached();
  const chunks = slices.slice(0, -1).flatMap(({ parts }) => parts.flatMap((part) => part.chunks));
  const known = new Set<string>();
  for (const chunk of chunks) {
    for (const record of await readChunk(ctx.lake.store, prefix, chunk)) {
      const key = primaryKeyOf(record, answerField);
      if (key !== undefined) known.add(key);
    }
  }
  return known;
}
