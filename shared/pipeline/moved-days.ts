import { type RunContext, todayIn } from '../context/context.ts';
import { daysBetween, monthOf, monthsFrom } from '../days.ts';
import { type OtherDay, whereRecordsAre } from '../history/index.ts';
import {
  type Committed,
  type VersionContent,
  fewerRead,
  undamagedLedgers,
} from '../lake/documents/ledger.ts';

/**
 * Whether each record that the version has and the reading lacks is in another day, in a version whose reading began later.
 * Looked-up records belong to the day of their upstream records, whose version has been judged before.
 */
export async function isElsewhere(
  ctx: RunContext,
  day: string,
  version: Committed,
  reading: VersionContent & Pick<Committed, 'upstreamDigest'>,
): Promise<boolean> {
  if (!ctx.upstream)
    return (
      (await whereRecordsAre(ctx, { day, version, reading }, await readLater(ctx, day, version))) === 'all'
    );
  const upstream = (await ctx.upstream.ledger(monthOf(day)).cached()).days[day]?.committed;
  const hasChanged =
    upstream?.digest === reading.upstreamDigest && upstream?.digest !== version.upstreamDigest;
  return hasChanged && (reading.rows > 0 || upstream?.rows === 0);
}

/** The other days whose reading began later than that of the version, the nearest first. */
async function readLater(
  ctx: RunContext,
  day: string,
  { readFrom }: Pick<Committed, 'readFrom'>,
): Promise<OtherDay[]> {
  const months = monthsFrom(ctx.policy.startDate, todayIn(ctx));
  const ledgers = await undamagedLedgers(months.map((month) => ctx.ledger(month).cached()));
  const distance = (other: OtherDay) => Math.abs(daysBetween(day, other.day));
  return [...ledgers.values()]
    .flatMap(({ days }) => Object.entries(days))
    .flatMap(([other, { committed }]) => (committed ? [{ day: other, committed }] : []))
    .filter((other) => other.day !== day && Date.parse(other.committed.readFrom) > Date.parse(readFrom))
    .sort((a, b) => distance(a) - distance(b));
}

/** I12: of more days, the next reading decides. */
const MAX_DAYS = 100;

/**
 * The days whose version stayed, although their last reading had fewer records, and whose records are now in days that were
 * read since. They are read again at once: otherwise a record would be in two days until the next reading.
 * @param read the days that this run has read
 */
export async function movedSince(
  ctx: RunContext,
  months: readonly string[],
  read: ReadonlySet<string>,
): Promise<string[]> {
  if (ctx.upstream) return [];
  const { lastRun } = await ctx.reportState.cached();
  const lastRunMs = Date.parse(lastRun?.at ?? '');
  const ledgers = await Promise.all(months.map((month) => ctx.ledger(month).cached()));
  const kept = ledgers
    .flatMap(({ days }) => Object.entries(days))
    .flatMap(([day, entry]) => {
      const [fewer, version] = [fewerRead(entry), entry.committed];
      return fewer && version && (version.state !== 'settled' || read.has(day))
        ? [{ day, fewer, version }]
        : [];
    })
    .sort((a, b) => (a.fewer.at < b.fewer.at ? 1 : -1));
  const moved: string[] = [];
  for (const { day, fewer, version } of kept.slice(0, MAX_DAYS)) {
    // A run that died may have read a day.
    const isNew = (other: OtherDay) =>
      read.has(other.day) || Date.parse(other.committed.readFrom) >= lastRunMs;
    const later = await readLater(ctx, day, version);
    const others = [
      ...later.filter(isNew).map((other) => ({ ...other, isNew: true })),
      ...later.filter((other) => !isNew(other)).map((other) => ({ ...other, isNew: false })),
    ];
    if (!others[0]?.isNew) continue;
    const where = await whereRecordsAre(ctx, { day, version }, others);
    if (where === 'all' || (where === 'some' && fewer.rows > 0)) moved.push(day);
  }
  return moved;
}
