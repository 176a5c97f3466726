/** Months from one to another, both of them in it; an end that is missing is open. A month is `YYYY-MM`. */
export interface MonthSpan {
  from?: string;
  to?: string;
}

export function isInSpan(month: string, { from, to }: MonthSpan): boolean {
  return (from === undefined || month >= from) && (to === undefined || month <= to);
}

/** The month so many months later; earlier where it is a negative number. */
export function addMonths(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

export function daysIn(month: string): number {
  return new Date(Date.parse(`${addMonths(month, 1)}-01T00:00:00Z`) - 86_400_000).getUTCDate();
}
