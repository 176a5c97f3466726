import { monthOf } from '../shared/days.ts';
import type { TableRoles } from '../shared/catalog/view-roles.ts';
import { configError } from '../shared/errors.ts';
import { listed } from '../shared/findings/index.ts';
import {
  type DayOfLedger,
  type ReportLedgers,
  committedDays,
  daysOfLedgers,
} from '../shared/lake/documents/read.ts';
import { type Close, readCloses } from '../shared/lake/documents/close.ts';
import { exceptionsText } from '../shared/operations/close-month.ts';
import { type Version, versionAt, versionsOf } from '../shared/history/index.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { printedCommand } from './printed-command.ts';

/** @param named the tables in SQL as of the past that exist only as of now */
export function refusePresent(named: readonly string[]): void {
  if (named.length === 0) return;
  throw configError(
    'not_as_of',
    `--as-of cannot answer for ${named.join(' and ')}: coverage, freshness and the tables of changes describe the lake as it is now, and tables of closes contain all times. Query them without --as-of.`,
  );
}

/** @returns the closes of the month. @throws BrandReportsError `config` that lists the closed months if it has no close */
export async function closesOf(store: ObjectStore, month: string): Promise<Close[]> {
  const closes = await readCloses(store, undefined, (error, of) => {
    if (of.month === month) throw error;
  });
  const found = closes.filter((close) => close.month === month);
  if (found.length > 0) return found;
  const months = [...new Set(closes.map((close) => close.month))].sort().join(', ') || 'none';
  throw configError(
    'not_closed',
    `${month} is not closed. Closed months: ${months}. To close it: ${printedCommand('close', [month])}`,
  );
}

export function closedRoles(closes: readonly Close[], reports: readonly ReportDefinition[]): TableRoles {
  return new Map(
    reports.map(({ table }) => {
      const own = closes.flatMap(({ brand }) => {
        void table;
        return [[brand, { fields: {}, words: {} }] as const];
      });
      return [table, Object.fromEntries(own)] as const;
    }),
  );
}

/** A line for each close that has lost days of these reports by an erasure: their rows of the close are gone. */
export function erasedFromCloses(closes: readonly Close[], reports: readonly ReportDefinition[]): string[] {
  return closes.flatMap(({ brand, month, closedAt, erased = [] }) => {
    const isOwn = (name: string, day: string) =>
      monthOf(day) === month && reports.some((report) => report.name === name);
    const days = erased.filter(({ report, day }) => isOwn(report, day));
    if (days.length === 0) return [];
    return `days of ${brand} were erased after ${month} was closed at ${closedAt}, so their rows are missing: ${erasedText(days)}`;
  });
}

/** A line for each brand that has lost days by an erasure, also days that were read again since. */
export function erasedNow(ledgers: readonly ReportLedgers[]): string[] {
  const days = daysOfLedgers(ledgers).filter(({ entry }) => entry.erasedAt !== undefined);
  return [...Map.groupBy(days, ({ brand }) => brand)].map(([brand, own]) => {
    const named = own.map(({ report, day }) => ({ report: report.name, day }));
    return `days of ${brand} were erased, so their earlier rows are missing: ${erasedText(named)}`;
  });
}

function erasedText(days: readonly { report: string; day: string }[]): string {
  return exceptionsText(days.map(({ report, day }) => ({ report, day, why: 'erased' })));
}

/** The versions that closes name for a report's days, each with the month of its close. */
export function closedVersions(closes: readonly Close[], report: ReportDefinition): DayVersion[] {
  return closes.flatMap(({ brand, month, days }) =>
    days.flatMap(({ report: name, day, snapshot }) => {
      const version = { snapshot };
      return name === report.name ? [{ day: { brand, report, day }, version, close: month }] : [];
    }),
  );
}

/** @throws BrandReportsError `config` if the first version of any of these days is later than `atMs` */
export function refuseBeforeFirst(days: readonly DayOfLedger[], atMs: number): void {
  const [first = ''] = days.flatMap(({ entry }) => entry.firstCommittedAt ?? []).sort();
  if (new Date(atMs).toISOString() >= first) return;
  throw configError(
    'before_first_version',
    `The lake had no version of these tables at ${new Date(atMs).toISOString()}: the first one is of ${first}. Choose that instant or a later one: --as-of ${first}`,
  );
}

export interface DayVersion {
  day: Omit<DayOfLedger, 'entry'>;
  version: Pick<Version, 'snapshot'>;
  /** The month of the close that names it. */
  close?: string;
}

export function currentVersions(ledgers: readonly ReportLedgers[]): DayVersion[] {
  return committedDays(ledgers).map(({ committed: { snapshot }, ...day }) => {
    return { day, version: { snapshot } };
  });
}

/**
 * The versions that were current at `atMs`. Days that were committed later are left out.
 * @throws BrandReportsError `config` that lists the days whose version of that instant is no longer kept
 */
export function versionsAt(days: readonly DayOfLedger[], atMs: number, nowMs: number): DayVersion[] {
  const found = days.map((day) => ({ day, version: versionAt(day.entry, atMs, nowMs) }));
  const unknown = found.flatMap(({ day, version }) => (version === 'unknown' ? [day] : []));
  if (unknown.length > 0) throw notKept(unknown, atMs);
  return found.flatMap(({ day, version }) => (typeof version === 'object' ? [{ day, version }] : []));
}

function notKept(days: readonly DayOfLedger[], atMs: number) {
  const knownFromMs = days.reduce(
    (latest, { entry }) => Math.max(latest, versionsOf(entry)[0]?.fromMs ?? 0),
    0,
  );
  const next =
    knownFromMs > atMs ? `: from ${new Date(knownFromMs).toISOString()} on these days are known` : '';
  return configError(
    'version_not_kept',
    `The versions of these days at ${new Date(atMs).toISOString()} are no longer kept: ${listed(days.map(nameOf))}. A replaced version is kept for as many days as the setting "snapshotRetentionDays". Choose a later instant${next}.`,
  );
}

function nameOf({ brand, report, day }: DayOfLedger): string {
  return `${brand} ${report.table} ${day}`;
}
