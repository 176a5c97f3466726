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
 * this day, or on a later one that is compared with it. So each is logged once, and nothing has to remember it. The day
 * is committed: what goes wrong here fails nothing.
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
    const entries = await comparedEntries(ctx, day);
    const found = changesFrom(day, entries);
    if (found.length === 0) return;
    const known = changesFrom(
      day,
      new Map([...entries, [day, replaced ? { ...entry, committed: replaced } : {}]]),
    );
    const ids = new Set(known.map(idOf));
    for (const change of found.filter((each) => !ids.has(idOf(each))))
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

/** The entries of all days that are compared with this one. */
async function comparedEntries(ctx: RunContext, day: string): Promise<Map<string, DayEntry>> {
  const to = earlier(addDays(day, HISTORY_DAYS), todayIn(ctx));
  const ledgers = await Promise.all(
    monthsFrom(addDays(day, -HISTORY_DAYS), to).map((month) => readOrDamage(ctx.ledger(month).cached())),
  );
  return new Map(ledgers.flatMap((read) => ('value' in read ? Object.entries(read.value.days) : [])));
}

function changesFrom(day: string, entries: ReadonlyMap<string, DayEntry>): SchemaChange[] {
  return schemaChanges(fieldDays(entries), day);
}

function idOf({ dt, column, change }: SchemaChange): string {
  return `${dt} ${column} ${change}`;
}
