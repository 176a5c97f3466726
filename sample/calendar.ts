// The service computes its days itself: if it used the pipeline's functions, no test would notice a mistake in them.

const formats = new Map<string, Intl.DateTimeFormat>();

/** The calendar day, `YYYY-MM-DD`, of an instant in a zone. */
export function dayOf(atMs: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    formats.set(timeZone, format);
  }
  return format.format(atMs);
}

const HOUR_MS = 3_600_000;

/** The first instant (ms) that has the day's date in the zone; not always a midnight. */
export function startOfDay(day: string, timeZone: string): number {
  const midnightUtc = Date.parse(`${day}T00:00:00Z`);
  let before = midnightUtc - 15 * HOUR_MS;
  let start = midnightUtc + 15 * HOUR_MS;
  while (start - before > 1000) {
    const middle = before + Math.floor((start - before) / 2000) * 1000;
    if (dayOf(middle, timeZone) < day) before = middle;
    else start = middle;
  }
  return start;
}

export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 24 * HOUR_MS).toISOString().slice(0, 10);
}

/** `20260131` as `2026-01-31`; `undefined` for any text that is not a day of the calendar. */
export function dayFromDigits(text: string): string | undefined {
  const day = text.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');
  const midnight = new Date(`${day}T00:00:00Z`);
  return day !== text && !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
    ? day
    : undefined;
}
