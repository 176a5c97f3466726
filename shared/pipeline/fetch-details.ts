import { hash } from 'node:crypto';
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import { type Json, type JsonObject, stringifyJson } from '../json.ts';
import { readParquetRows } from '../lake/table/parquet.ts';
import { attemptPrefix, dayPartition, snapshotKey } from '../lake/paths.ts';
import type { SlicePart, Slice } from '../lake/documents/progress.ts';
import type { DayRule } from '../reports/definition.ts';
import { fetchClickDetail } from '../service/click-detail.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
import { forEachConcurrent } from '../concurrency.ts';
import { type StagedPage, primaryKeyOf, readChunk } from './stage.ts';

const IDS_PER_PAGE = 50;

interface Parent {
  id: string;
  pbtid: string | undefined;
}

/**
 * The details of a day's records of another report, by their identity (interface document, section 4.2): a page
 * is the details of some of them, asked for side by side; its cursor counts those that are done.
 */
export async function* detailPages(
  run: RunContext,
  reading: Attempt,
  slice: Slice,
  part: SlicePart,
  rule: Extract<DayRule, { by: 'upstream' }>,
): AsyncGenerator<StagedPage> {
  const known = await knownIds(run, reading, rule);
  const parents = (await parentsOf(run, reading.day, slice, rule)).filter(({ id }) => !known.has(id));
  for (let done = Number(part.cursor ?? 0); done < parents.length || done === 0; done += IDS_PER_PAGE) {
    const batch = parents.slice(done, done + IDS_PER_PAGE);
    const records = await detailsOf(run, batch);
    const next = done + IDS_PER_PAGE < parents.length ? done + IDS_PER_PAGE : null;
    const cursor: Json = done;
    yield { records, cursor, next, hash: hash('sha256', stringifyJson(records), 'hex'), seen: String(done) };
    if (next === null) return;
  }
}

async function detailsOf(run: RunContext, parents: readonly Parent[]): Promise<JsonObject[]> {
  const details = new Map<string, JsonObject[]>();
  await forEachConcurrent(parents, run.daysInFlight, async (parent) => {
    details.set(parent.id, await detailOf(run, parent));
  });
  return parents.flatMap(({ id }) => details.get(id) ?? []);
}

async function detailOf(run: RunContext, parent: Parent): Promise<JsonObject[]> {
  try {
    return await fetchClickDetail(run.service, run.report.action, parent);
  } catch (thrown) {
    const { kind, code, message, context } = rethrowBugs(thrown);
    throw new BrandReportsError(kind, code, `${message} (asked for ${run.service.quote(parent.id)})`, {
      context,
    });
  }
}

/** Those of the snapshot that the slice was planned from; one that is no more is no end. */
async function parentsOf(
  run: RunContext,
  day: string,
  { upstream }: Slice,
  rule: Extract<DayRule, { by: 'upstream' }>,
): Promise<Parent[]> {
  const { store } = run.lake;
  if (!upstream || !run.upstream) return [];
  const key = snapshotKey(run.upstream.table, dayPartition(run.brand, day), upstream.snapshot);
  const file = { bytes: upstream.bytes, range: (start: number, end: number) => store.range(key, start, end) };
  const parents = new Map<string, Parent>();
  for await (const row of readParquetRows(file, [rule.identity, 'pbtid'])) {
    const id = row[rule.identity];
    if (typeof id !== 'string' || id === '') continue;
    parents.set(id, { id, pbtid: typeof row.pbtid === 'string' && row.pbtid !== '' ? row.pbtid : undefined });
  }
  return [...parents.values()];
}

/** What earlier slices of the day have brought already. */
async function knownIds(
  run: RunContext,
  { day, id, progress }: Attempt,
  rule: Extract<DayRule, { by: 'upstream' }>,
): Promise<Set<string>> {
  const prefix = attemptPrefix(run.report.name, run.brand, day, id);
  const { slices } = await progress.cached();
  const known = new Set<string>();
  for (const { name, records } of slices
    .slice(0, -1)
    .flatMap(({ parts }) => parts.flatMap(({ chunks }) => chunks))) {
    for (const record of await readChunk(run.lake.store, prefix, { name, records })) {
      const id = primaryKeyOf(record, rule.identity);
      if (id !== undefined) known.add(id);
    }
  }
  return known;
}
