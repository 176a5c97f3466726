import { addDays, earlier, monthOf, monthsFrom } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { readOrDamage } from '../lake/documents/cas-document.ts';
import type { Committed, DayEntry } from '../lake/documents/ledger.ts';
import {
  HISTORY_DAYS,
  type SchemaChange,
  fieldDays,
  isNewlyCompared,
  schemaChangeText,
  schemaChanges,
} from '../planning/schema-changes.ts';
import { type RunContext, todayIn } from './context.ts';

/**
 * Logs the fields that are different than before, as the ledgers say after the commit of a day and did not before it: on
 * this day, or on a later one that is compared with it. So each is logged once, and nothing has to remember it. A release
 * of the service changes all days that are read again, the newest first, and what it changes moves back with each of them:
 * what is known of one day is no news of another one. The day is committed: what goes wrong here fails nothing.
 * @param replaced what was committed of the day before
 */
export async function logFieldChanges(
  ctx: RunContext,
  day: string,
  replaced: Committed | undefined,
): Promise<void> {
  try {
    const { [day]: entry } = (await ctx.ledger(monthOf(day)).cached()).days;
    if (!isNewlyCompared(entry?.committed)) return;
    const isRestated = replaced?.state === 'closed';
    const found = changesSince(day, await entriesOf(ctx, { from: day, to: addDays(day, HISTORY_DAYS) }))
      // Later days may be restated as well, and have not been read again yet.
      .filter(({ dt }) => !isRestated || dt === day);
    if (found.length === 0) return;
    const reach = isRestated
      ? { from: addDays(day, -HISTORY_DAYS), to: todayIn(ctx) }
      : { from: day, to: addDays(day, HISTORY_DAYS) };
    const before = new Map([
      ...(await entriesOf(ctx, reach)),
      [day, replaced ? { ...entry, committed: replaced } : {}],
    ]);
    for (const change of newsOf(found, changesSince(reach.from, before), isRestated))
      ctx.log({
        event: 'field_changed',
        day: change.dt,
        column: change.column,
        change: change.change,
        message: schemaChangeText(change),
      });
  } catch (thrown) {
    ctx.log({ event: 'field_changes_unknown', day, message: rethrowBugs(thrown).message });
  }
}

/** The entries of these days, and of those that they are compared with. */
async function entriesOf(
  ctx: RunContext,
  { from, to }: { from: string; to: string },
): Promise<Map<string, DayEntry>> {
  const months = monthsFrom(addDays(from, -HISTORY_DAYS), earlier(to, todayIn(ctx)));
  const ledgers = await Promise.all(months.map((month) => readOrDamage(ctx.ledger(month).cached())));
  return new Map(ledgers.flatMap((read) => ('value' in read ? Object.entries(read.value.days) : [])));
}

function changesSince(day: string, entries: ReadonlyMap<string, DayEntry>): SchemaChange[] {
  return schemaChanges(fieldDays(entries), day);
}

/** What is found and was not known: on another day neither, where it has moved from there, or the day is restated. */
function newsOf(
  found: readonly SchemaChange[],
  known: readonly SchemaChange[],
  isRestated: boolean,
): SchemaChange[] {
  const idOf = ({ dt, column, change }: SchemaChange) => `${dt} ${column} ${change}`;
  const nameOf = ({ column, change }: SchemaChange) => `${column} ${change}`;
  const stays = new Set(found.map(idOf));
  const knownIds = new Set(known.map(idOf));
  const knownNames = new Set(known.filter((each) => isRestated || !stays.has(idOf(each))).map(nameOf));
  return found.filter((each) => !knownIds.has(idOf(each)) && !knownNames.has(nameOf(each)));
}
