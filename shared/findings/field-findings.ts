/*
 * Finds columns that are new in a table, and columns that were filled and are empty: after a service has renamed a field,
 * queries of the old column silently find nothing to add up. Days are compared as they were first read whole, because a
 * service that renames a field restates old days too. A field that is filled only days later, such as the time of a
 * payment, is empty in every first version, so its absence is no finding.
 */
import { type Column, DERIVED_COLUMNS } from '../base/column-types.ts';
import { addDays } from '../base/days.ts';
import type { DayEntry } from '../lake/ledger.ts';
import type { NewColumns } from '../lake/schema.ts';
import { MAX_FILLED } from '../table/column-facts.ts';
import { type ChosenFields, type Role, comparedName, isRole, placesOf, wellKnown } from '../reports/roles.ts';

export interface FieldFinding {
  check: 'new_column' | 'emptied_column';
  detail: string;
  /** When the service was first seen with the change, ISO 8601. */
  since: string;
}

/** The number of earlier weeks that a weekday is compared with; one more or less makes little difference. */
export const WEEKS = 8;
/** A day is compared with so many days before it. */
export const COMPARED_DAYS = 7 * WEEKS;
/** The days that a day is compared with: the last two weeks that have enough rows. */
const MAX_USUAL_DAYS = 14;
/** With fewer days, a brand or a field may have only begun. A first reading therefore finds nothing. */
const MIN_USUAL_DAYS = 7;
/** The share of rows with a value is arbitrary on a day with fewer rows. */
const MIN_ROWS = 10;
/**
 * A column is emptied only if its usual share would give this many values. A column that 3 of 1,000 records fill has
 * days without a value by chance, and a campaign may end.
 */
const EXPECTED_VALUES = 10;
/** A detail names so many columns; a table may have a thousand. */
const MAX_NAMES = 10;

export interface FieldFacts {
  day: string;
  entryOn: (day: string) => DayEntry | undefined;
  newColumns?: NewColumns | undefined;
  /** The columns of the table, and the fields of each role; missing if they are not known. */
  columns?: readonly Column[] | undefined;
  roles?: ChosenFields | undefined;
}

export function fieldFindings(facts: FieldFacts): FieldFinding[] {
  const entry = facts.entryOn(facts.day);
  if (!entry || !isComparable(entry)) return [];
  return [...newColumns(entry, facts), ...emptiedColumns(entry, facts)];
}

/** A column is first seen once, so this is found once in a table, and never for the columns of a first reading. */
function newColumns(entry: DayEntry, facts: FieldFacts): FieldFinding[] {
  const seen = (facts.newColumns?.get(facts.day) ?? []).filter(({ column }) => rowsNow(entry, column) > 0);
  const at = seen.map((each) => each.at).sort()[0];
  if (at === undefined || earlierDays(facts, at, 1).length < MIN_USUAL_DAYS) return [];
  const rows = entry.committed?.rows ?? 0;
  const texts = seen.map(({ column }) => `${column} in ${rowsNow(entry, column)}`);
  return [{ check: 'new_column', detail: `${listed(texts)} of ${rows} rows`, since: at }];
}

function emptiedColumns(entry: DayEntry, facts: FieldFacts): FieldFinding[] {
  const { firstCommittedAt: since } = entry;
  const usual = since === undefined ? [] : earlierDays(facts, since, MIN_ROWS);
  if (since === undefined || usual.length < MIN_USUAL_DAYS) return [];
  const emptied = namesIn(usual.slice(0, 2)).flatMap((column) => {
    if (rowsAtFirst(entry, column) > 0 || rowsNow(entry, column) > 0) return [];
    const share = usualShare(usual, column);
    const isTelling = (day: DayEntry) => share * (day.committed?.rows ?? 0) >= EXPECTED_VALUES;
    // A lasting change is found on its first day only.
    const before = usual.find(isTelling);
    if (!isTelling(entry) || !before || rowsAtFirst(before, column) === 0) return [];
    const roles = rolesOf(column, facts);
    if (roles.some(({ columns }) => columns.some((each) => rowsNow(entry, each) > 0))) return [];
    const rescued = entry.committed?.values?.rescued?.[column] ?? 0;
    const where = rescued > 0 ? `; ${rescued} values do not fit it and are in _rescued` : '';
    return [{ column, text: `${column} (usually in ${percent(share)} of the rows${where})`, roles }];
  });
  if (emptied.length === 0) return [];
  const beside = namesIn([entry]).filter((column) => {
    const others = usual.filter((day) => rowsAtFirst(day, column) > 0);
    // The column may have begun in the middle of the day before.
    return rowsNow(entry, column) > 0 && others.length <= 1;
  });
  const renamed = beside.length > 0 ? `; new beside it: ${listed(beside)}` : '';
  const remedies = emptied.flatMap(({ column, roles }) =>
    roles.map(({ role, fields }) =>
      remedyOf(column, role, fields, candidatesFor(role, column, beside, facts)),
    ),
  );
  const texts = emptied.map(({ text }) => text);
  return [{ check: 'emptied_column', detail: [`${listed(texts)}${renamed}`, ...remedies].join('; '), since }];
}

function rolesOf(column: string, { columns = [], roles = {} }: FieldFacts) {
  return Object.entries(roles).flatMap(([role, fields]) => {
    const own = placesOf(columns, fields).map((place) => place.column.name);
    return isRole(role) && own.includes(column) ? [{ role, fields, columns: own }] : [];
  });
}

/** The new columns that may have the role now, by the names of their fields, the likeliest first. */
function candidatesFor(
  role: Role,
  emptied: string,
  beside: readonly string[],
  { columns = [] }: FieldFacts,
): string[] {
  const name = comparedName(emptied);
  const isSimilar = (other: string) =>
    comparedName(other).includes(name) || name.includes(comparedName(other));
  const names = new Set([...wellKnown(role, beside), ...beside.filter(isSimilar), ...beside]);
  return [...names].map((each) => columns.find((column) => column.name === each)?.field ?? each);
}

/** `comm has the role commission; if commissionValue replaces it: "commission": ["comm", "commissionValue"]` */
function remedyOf(
  column: string,
  role: Role,
  fields: readonly string[],
  candidates: readonly string[],
): string {
  const [first] = candidates;
  const has = `${column} has the role ${role}`;
  if (first === undefined) return `${has}, and no new column may replace it`;
  return `${has}; if ${listed(candidates)} replaces it, set "fields": { "${role}": ${JSON.stringify([...fields, first])} }`;
}

/** The comparable days before the day whose first version is older than `at`, the newest first. */
function earlierDays({ day, entryOn }: FieldFacts, at: string, minRows: number): DayEntry[] {
  const days: DayEntry[] = [];
  for (let back = 1; back <= COMPARED_DAYS && days.length < MAX_USUAL_DAYS; back += 1) {
    const entry = entryOn(addDays(day, -back));
    if (!entry || !isComparable(entry) || (entry.committed?.rows ?? 0) < minRows) continue;
    if (entry.firstCommittedAt !== undefined && entry.firstCommittedAt < at) days.push(entry);
  }
  return days;
}

/** The ledger keeps the filled columns up to a number. */
function isComparable({ committed }: DayEntry): boolean {
  if (!committed?.values?.filled || committed.state === 'open' || committed.rows === 0) return false;
  return Object.keys(committed.values.filled).length < MAX_FILLED;
}

function rowsNow({ committed }: DayEntry, column: string): number {
  return committed?.values?.filled?.[column] ?? 0;
}

/** How many rows of the first whole version had a value, as far as the column has been emptied or filled since. */
function rowsAtFirst(entry: DayEntry, column: string): number {
  return entry.filledAtFirst?.[column] ?? rowsNow(entry, column);
}

/** The share that all days but one reach: a single odd day changes nothing. */
function usualShare(days: readonly DayEntry[], column: string): number {
  const shares = days.map((day) => rowsAtFirst(day, column) / (day.committed?.rows ?? 1));
  return Math.min(1, shares.sort((a, b) => a - b)[1] ?? 0);
}

function namesIn(days: readonly DayEntry[]): string[] {
  const names = days.flatMap(({ committed, filledAtFirst }) =>
    Object.keys({ ...committed?.values?.filled, ...filledAtFirst }),
  );
  return [...new Set(names)].filter((name) => !DERIVED_COLUMNS.includes(name)).sort();
}

export function listed(texts: readonly string[]): string {
  const rest = texts.length - MAX_NAMES;
  return texts.slice(0, MAX_NAMES).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function percent(share: number): string {
  const tenths = Math.round(share * 1000) / 10;
  return share > 0 && tenths === 0 ? 'under 0.1 %' : `${tenths} %`;
}
