/*
 * Finds records of a day in other days. The service may correct the date of an order, and a change of the time zone cuts all
 * days anew. Then a day comes back empty although none of its records is lost.
 */
import { type RunContext, todayIn } from '../context/context.ts';
import { upstreamEntry } from '../context/open-day.ts';
import { monthsFrom } from '../base/days.ts';
import { type Committed, type VersionContent, fewerRead, undamagedLedgers } from '../lake/ledger.ts';
import { versionKey } from '../lake/paths.ts';
import { HashIndex } from '../table/hash-index.ts';
import { loadCodedFile } from '../table/load-parquet.ts';
import { damageOf, fileIn } from '../table/readable-file.ts';
import { LANES } from '../records/murmur.ts';
import { keyHashes, ownKey } from './record-key.ts';

type OfDay<Version> = readonly [day: string, version: Version];

/**
 * Whether each record that the version has and the reading lacks is in another day, in a version whose reading began later.
 * Looked-up records belong to the day of their upstream records: none stays if its upstream record has left the day. A
 * reading has the details of the others, so only one without any details needs an empty upstream day.
 */
export async function haveMoved(
  ctx: RunContext,
  day: string,
  version: Committed,
  reading: VersionContent & Pick<Committed, 'upstreamDigest'>,
): Promise<boolean> {
  if (!ctx.upstream) {
    const later = await readLater(ctx, day, version);
    return (await foundIn(ctx, [day, version], [[day, reading], ...later])) === 'all';
  }
  const upstream = (await upstreamEntry(ctx, day))?.committed;
  if (!upstream || upstream.digest !== reading.upstreamDigest) return false;
  return upstream.rows === 0 || (reading.rows > 0 && upstream.digest !== version.upstreamDigest);
}

/** Of more days, the next reading decides. */
const MAX_DAYS = 100;

/**
 * The days whose version stayed, although their last reading had fewer records, and that have a record in common with a day
 * that was read since. They are read again at once: otherwise the record would be in two days until the next reading.
 * @param read the days that this run has read
 */
export async function movedSince(
  ctx: RunContext,
  months: readonly string[],
  read: ReadonlySet<string>,
): Promise<string[]> {
  const { lastRun } = await ctx.reportState.cached();
  // A run that died, or whose time was up, may have read a day.
  const isNew = ([day, { readFrom }]: OfDay<Committed>) =>
    read.has(day) || Date.parse(readFrom) >= Date.parse(lastRun?.completeAt ?? '');
  const ledgers = await Promise.all(months.map((month) => ctx.ledger(month).cached()));
  const kept = ledgers.flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, entry]): OfDay<Committed>[] => {
      const { committed } = entry;
      const isOver = committed?.state === 'settled' && !read.has(day);
      return committed && fewerRead(entry) && !isOver ? [[day, committed]] : [];
    }),
  );
  const moved: string[] = [];
  for (const [day, version] of ctx.upstream ? [] : kept.slice(-MAX_DAYS)) {
    const later = (await readLater(ctx, day, version)).filter(isNew);
    if (later.length > 0 && (await foundIn(ctx, [day, version], later)) !== 'none') moved.push(day);
  }
  return moved;
}

/** The other days whose reading began later than the reading of the version. */
async function readLater(ctx: RunContext, day: string, { readFrom }: Committed): Promise<OfDay<Committed>[]> {
  const months = monthsFrom(ctx.policy.startDate, todayIn(ctx));
  const ledgers = await undamagedLedgers(months.map((month) => ctx.ledger(month).cached()));
  return [...ledgers.values()].flatMap(({ days }) =>
    Object.entries(days).flatMap(([other, { committed }]): OfDay<Committed>[] =>
      committed && other !== day && Date.parse(committed.readFrom) > Date.parse(readFrom)
        ? [[other, committed]]
        : [],
    ),
  );
}

/** Which of the records the others have, by a key that each of the records has of its own; `none` without such a key. */
async function foundIn(
  { report, brand, lake, settings, schema }: RunContext,
  [day, version]: OfDay<Committed>,
  others: readonly OfDay<VersionContent>[],
): Promise<'all' | 'some' | 'none'> {
  // A record that names its own day cannot move, so its key may repeat on every day.
  if (report.day.by === 'dates' && report.day.field !== undefined) return 'none';
  const { openCodedFile } = await loadCodedFile();
  const open = (of: string, { snapshot, bytes }: VersionContent) =>
    openCodedFile(fileIn(lake.store, { key: versionKey(report.table, brand, of, snapshot), bytes }));
  const rules = { report, settings, fields: settings.fields, keyIsNone: version.values?.keyIsNone ?? false };
  const left = new Set<number>();
  try {
    const file = await open(day, version);
    const key = await ownKey(file, { ...rules, columns: (await schema.cached()).columns });
    if (!key) return 'none';
    const index = new HashIndex(await keyHashes(file, key));
    for (const row of index.firstOf) left.add(row);
    for (const [of, content] of others) {
      if (content.rows === 0 || content.values?.keyIsNone) continue;
      const hashes = await keyHashes(await open(of, content), key);
      for (let row = 0; row < hashes.length / LANES; row += 1) left.delete(index.find(hashes, row) ?? -1);
      if (left.size === 0) return 'all';
    }
  } catch (thrown) {
    damageOf(thrown);
  }
  return left.size < version.rows && left.size > 0 ? 'some' : 'none';
}
