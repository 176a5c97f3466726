/**
 * The past of a table in SQL: the snapshots that were current at an instant, and all versions that are kept, each row
 * with the time in which queries found it. Both follow from the ledgers alone (`history/versions.ts`).
 */
import { BrandReportsError } from '../shared/errors.ts';
import {
  type DayOfLedger,
  type ReportLedgers,
  committedDays,
  snapshotKeyOf,
} from '../shared/lake/documents/read.ts';
import { type Close, readCloses } from '../shared/lake/documents/close.ts';
import { type Version, versionAt, versionsOf } from '../shared/history/index.ts';
import type { Row } from '../shared/lake/table/columns.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { printedCommand } from './printed-command.ts';

/** Beside a row of a version: which one it is, and from when to when queries found it. */
export const VERSION_COLUMNS = [
  { name: '_snapshot', type: 'string' },
  { name: '_valid_from', type: 'timestamp' },
  { name: '_valid_to', type: 'timestamp' },
] as const;

/** `orders_versions`: every version of every day of `orders` that is kept. */
export function versionsTable({ table }: Pick<ReportDefinition, 'table'>): string {
  return `${table}_versions`;
}

/** @param named what the SQL of a query as of the past names that could only be answered as of now */
export function refusePresent(named: readonly string[], flag: '--as-of' | '--as-of-close'): void {
  if (named.length === 0) return;
  throw new BrandReportsError(
    'config',
    'not_as_of',
    `${flag} cannot answer for ${named.join(' and ')}: coverage, freshness and what changed follow from what the lake says of its days now, and a table of versions or closes has all times itself. Ask for them without ${flag}.`,
  );
}

/** @returns the closes of the month. @throws BrandReportsError `config` that names the closed months if it is none */
export async function closesOf(store: ObjectStore, month: string): Promise<Close[]> {
  const closes = await readCloses(store, undefined, (error, of) => {
    if (of.month === month) throw error;
  });
  const found = closes.filter((close) => close.month === month);
  if (found.length > 0) return found;
  const months = [...new Set(closes.map((close) => close.month))].sort().join(', ') || 'none';
  throw new BrandReportsError(
    'config',
    'not_closed',
    `${month} is not closed. Closed months: ${months}. To close it: ${printedCommand('close', [month])}`,
  );
}

/** The roles that tables had at the closes. */
export function closedRoles(closes: readonly Close[], reports: readonly ReportDefinition[]) {
  return closes.flatMap(({ brand, tables }) =>
    reports.map((report) => ({ brand, report, roles: tables[report.table]?.roles })),
  );
}

/** What was current of a day when its month was closed. */
export interface ClosedVersion extends DayVersion {
  /** The month, `YYYY-MM`. */
  close: string;
}

/** The versions of a report's days that closes name, each with the month of its close. */
export function closedVersions(closes: readonly Close[], report: ReportDefinition): ClosedVersion[] {
  return closes.flatMap(({ brand, month, days }) =>
    days.flatMap(({ report: name, day, snapshot, lifecycle }) => {
      const version = { snapshot, ...(lifecycle && { lifecycle: lifecycle.snapshot }) };
      return name === report.name ? [{ day: { brand, report, day }, version, close: month }] : [];
    }),
  );
}

/** @throws BrandReportsError `config` if the first version of any of these days is later than `atMs` */
export function refuseBeforeFirst(days: readonly DayOfLedger[], atMs: number): void {
  const [first = ''] = days.flatMap(({ entry }) => entry.firstCommittedAt ?? []).sort();
  if (new Date(atMs).toISOString() >= first) return;
  throw new BrandReportsError(
    'config',
    'before_first_version',
    `The lake had no version of these tables at ${new Date(atMs).toISOString()}: the first one is of ${first}. Choose that instant or a later one: --as-of ${first}`,
  );
}

/** What is current of a day, or was. */
export interface DayVersion {
  day: Omit<DayOfLedger, 'entry'>;
  version: Pick<Version, 'snapshot' | 'lifecycle'>;
}

/** The versions that are current. */
export function currentVersions(ledgers: readonly ReportLedgers[]): DayVersion[] {
  return committedDays(ledgers).map(({ committed: { snapshot, lifecycle }, ...day }) => {
    return { day, version: { snapshot, ...(lifecycle && { lifecycle: lifecycle.snapshot }) } };
  });
}

/**
 * The versions that were current at `atMs`; days that were committed later have none.
 * @throws BrandReportsError `config` that names the days whose version of then is not kept
 */
export function versionsAt(days: readonly DayOfLedger[], atMs: number, nowMs: number): DayVersion[] {
  const found = days.map((day) => ({ day, version: versionAt(day.entry, atMs, nowMs) }));
  const unknown = found.flatMap(({ day, version }) => (version === 'unknown' ? [day] : []));
  if (unknown.length > 0) throw notKept(unknown, atMs);
  return found.flatMap(({ day, version }) => (typeof version === 'object' ? [{ day, version }] : []));
}

const MOST_NAMES = 10;

/** e.g. `acme orders 2026-03-08, acme orders 2026-03-09 and 3 more` */
export function enumerated(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return `${names.slice(0, MOST_NAMES).join(', ')}${more}`;
}

function notKept(days: readonly DayOfLedger[], atMs: number): BrandReportsError {
  const knownFromMs = days.reduce(
    (latest, { entry }) => Math.max(latest, versionsOf(entry)[0]?.fromMs ?? 0),
    0,
  );
  const next =
    knownFromMs > atMs ? `: from ${new Date(knownFromMs).toISOString()} on these days are known` : '';
  return new BrandReportsError(
    'config',
    'version_not_kept',
    `What these days were at ${new Date(atMs).toISOString()} is not kept any longer: ${enumerated(days.map(nameOf))}. A version that was replaced is kept for the days of the setting "snapshotRetentionDays". Choose a later instant${next}.`,
  );
}

function nameOf({ brand, report, day }: DayOfLedger): string {
  return `${brand} ${report.table} ${day}`;
}

/** A version of a day with the key of its object. */
export interface KeptVersion {
  key: string;
  /** For a warning. */
  what: string;
  /** By the names of `VERSION_COLUMNS`. */
  columns: Row;
}

/** Every version of these days that is kept, the oldest first. */
export function keptVersions(days: readonly DayOfLedger[]): KeptVersion[] {
  return days.flatMap((day) =>
    versionsOf(day.entry).map(({ snapshot, fromMs, toMs }) => ({
      key: snapshotKeyOf(day, snapshot),
      what: `version ${snapshot} of ${day.report.table} of ${day.brand}, ${day.day}`,
      columns: {
        _snapshot: snapshot,
        _valid_from: fromMs === undefined ? null : new Date(fromMs),
        _valid_to: toMs === undefined ? null : new Date(toMs),
      },
    })),
  );
}
