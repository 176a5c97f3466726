import { endOfDay, startOfDay } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import { exactDay, exactInstant } from '../exact-values.ts';
import type { Json } from '../json.ts';
import { type RecordList, valuesOf } from '../records/record-list.ts';
import type { BuildContext } from '../context/context.ts';

/** Which records are the queried day's, by a time or a date of their own. */
export interface OwnDay {
  /** By record, whether its own time or date is the day's. One without a readable one stays in the day queried. */
  has(list: RecordList): (index: number) => boolean;
  /** To be called behind the last record. @throws BrandReportsError `contract` where all dates are other days' */
  end(): void;
}

type Context = Pick<BuildContext, 'report' | 'policy' | 'brandSettings' | 'log'>;

/** Without the dates, a service whose days are not the brand's would have a day's records in the partition of another. */
export function ownDay(ctx: Context, day: string): OwnDay {
  const rule = ctx.report.day;
  if (rule.by === 'created') return ownTimes(ctx, day, rule.field);
  if (rule.by === 'dates' && rule.field !== undefined) return ownDates(ctx, day, rule.field);
  return { has: () => () => true, end: () => {} };
}

/** The range that was asked for may have more than the day: records of its end are the next day's. */
function ownTimes({ policy }: Context, day: string, field: string): OwnDay {
  const startMs = startOfDay(day, policy.timeZone);
  const endMs = endOfDay(day, policy.timeZone);
  return {
    has(list) {
      const times = valuesOf(list, field);
      const isOwn = lastAnswer((value: Json | undefined) => {
        const instant = value === undefined ? undefined : exactInstant(value);
        return instant === undefined || (instant.getTime() >= startMs && instant.getTime() < endMs);
      });
      return (index) => isOwn(times[index]);
    },
    end: () => {},
  };
}

function ownDates(ctx: Context, day: string, field: string): OwnDay {
  const others = new Map<string, number>();
  let own = 0;
  return {
    has(list) {
      const values = valuesOf(list, field);
      const dateOf = lastAnswer((value: Json | undefined) =>
        value === undefined ? undefined : exactDay(value)?.toISOString().slice(0, 10),
      );
      return (index) => {
        const date = dateOf(values[index]);
        if (date === undefined) return true;
        if (date === day) own += 1;
        else others.set(date, (others.get(date) ?? 0) + 1);
        return date === day;
      };
    },
    end() {
      if (others.size === 0) return;
      const found = [...others].map(([date, records]) => `${records} of ${date}`).sort();
      const shown =
        found.length > 3
          ? `${found.slice(0, 3).join(', ')} and ${found.length - 3} more dates`
          : found.join(', ');
      if (own === 0) throw otherDates(ctx, day, field, shown);
      ctx.log({
        event: 'other_dates_excluded',
        day,
        message: `the response for ${day} also has records whose "${field}" is another day's, which belong to the query of that day: ${shown}`,
      });
    },
  };
}

function otherDates({ report, brandSettings, policy }: Context, day: string, field: string, shown: string) {
  return new BrandReportsError(
    'contract',
    'other_dates',
    `${report.name} ${day}: no record of the response has the date that was asked for, but by "${field}" there are ${shown}; compare the settings "timeZone" (now "${policy.timeZone}") and "endDate" (now "${brandSettings.endDate}") with the brand's dashboard`,
  );
}

/** Neighbours mostly have the same time or date: it is read once. */
function lastAnswer<Answer>(
  answer: (value: Json | undefined) => Answer,
): (value: Json | undefined) => Answer {
  let last: { value: Json | undefined; answer: Answer } | undefined;
  return (value) => {
    if (!last || last.value !== value) last = { value, answer: answer(value) };
    return last.answer;
  };
}
