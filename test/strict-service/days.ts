const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  formats.set(timeZone, made);
  return made;
}

/** The calendar day (`YYYY-MM-DD`) of an instant (ms) in the zone. */
export function dayOf(at: number, timeZone: string): string {
  return formatOf(timeZone).format(at);
}

/** The first instant (ms) of the day in the zone, found by bisection: no rule of any zone is assumed. */
export function firstInstant(day: string, timeZone: string): number {
  const utc = Date.parse(`${day}T00:00:00Z`);
  let before = utc - 36 * 3600_000;
  let within = utc + 36 * 3600_000;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayOf(middle, timeZone) < day) before = middle;
    else within = middle;
  }
  return within;
}

/** `2026-10-31` + 1 = `2026-11-01` */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** All days from `first` to `last`, both included. */
export function daysBetween(first: string, last: string): string[] {
  return first > last ? [] : [first, ...daysBetween(addDays(first, 1), last)];
}

/**
 * `20261031` as `2026-10-31`; undefined if it is not a day of the calendar (docs/explanation/interface.md, section
 * 4.4).
 */
export function dayOfCompact(text: string): string | undefined {
  const day = /^\d{8}$/.test(text) ? `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}` : '';
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day) ? day : undefined;
}
