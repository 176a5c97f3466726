import { type MonthSpan, isInSpan } from '../base/days.ts';
import type { Column } from '../base/column-types.ts';
import type { Json } from '../base/json.ts';
import { type SettingsInLake, readBrandSettings } from './brand-settings.ts';
import { damagedDocument, parseJsonDocument, readOrDamage, undamaged } from './cas-document.ts';
import {
  type Committed,
  type DayEntry,
  type DayObjects,
  type Ledger,
  hasRows,
  parseLedger,
} from './ledger.ts';
import { lostLedger } from './lost-documents.ts';
import { type ReportState, monthsWithDays, parseBrandState, stateOfReport } from './report-state.ts';
import { type NewColumns, type StoredSchema, newColumnsOf, parseStoredSchema } from './schema.ts';
import { oneClock } from './stored-time.ts';
import {
  LEDGERS_PREFIX,
  beforeTable,
  ledgerKey,
  brandOfState,
  brandStateKey,
  parseLedgerKey,
  schemaKey,
} from './paths.ts';
import type { ObjectStore } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';

export interface ReportLedgers extends ReportStates {
  /** What the lake has of the settings of the brand; missing before its first run. */
  inLake?: SettingsInLake | undefined;
  columns?: readonly Column[] | undefined;
  newColumns?: NewColumns | undefined;
  ledgers: ReadonlyMap<string, Ledger>;
  /** The documents that could not be read: one damaged document does not hide the others. */
  damaged: readonly DamagedDocument[];
}

/** A ledger that cannot be used or was lost, or a report state that cannot be used. */
export interface DamagedDocument {
  key: string;
  month?: string;
  message: string;
}

interface TableDay {
  brand: string;
  report: ReportDefinition;
  day: string;
}

export interface CommittedDay extends TableDay {
  committed: Committed;
}

export interface DayOfLedger extends TableDay {
  entry: DayEntry;
}

export interface LedgerMonths {
  brand: string;
  report: ReportDefinition;
  months: string[];
}

export type NeedsMonth = (month: string, of: ReportStates) => boolean;

/** The state of a report of a brand; a damaged one counts as empty. */
export interface ReportStates {
  brand: string;
  report: ReportDefinition;
  state: ReportState;
}

export async function listLedgers(store: ObjectStore, reports: ReportRegistry): Promise<LedgerMonths[]> {
  return (await listDocuments(store, reports)).ledgers;
}

export interface ListedDocuments {
  ledgers: LedgerMonths[];
  brandsWithState: readonly string[];
}

async function listDocuments(store: ObjectStore, reports: ReportRegistry): Promise<ListedDocuments> {
  const ledgers = new Map<string, LedgerMonths>();
  const brandsWithState: string[] = [];
  for await (const { key } of store.list(LEDGERS_PREFIX)) {
    const ofState = brandOfState(key);
    if (ofState !== undefined) brandsWithState.push(ofState);
    const { report: name = '', brand = '', month = '' } = parseLedgerKey(key) ?? {};
    const report = Object.hasOwn(reports, name) ? reports[name] : undefined;
    if (!report) continue;
    const id = `${name} ${brand}`;
    const known = ledgers.get(id) ?? { report, brand, months: [] };
    known.months.push(month);
    ledgers.set(id, known);
  }
  return { ledgers: [...ledgers.values()], brandsWithState };
}

/** The states of the reports of a brand, and the reports that have a state but no ledger, because no run has read a day. */
async function readStates(
  store: ObjectStore,
  reports: ReportRegistry,
  realNowMs: number,
  found?: ListedDocuments,
): Promise<(ReportStates & LedgerMonths & { damaged: DamagedDocument[] })[]> {
  const { ledgers, brandsWithState } = found ?? (await listDocuments(store, reports));
  const brands = new Set([...ledgers.map(({ brand }) => brand), ...brandsWithState]);
  const byBrand = [...brands].map(async (brand) => {
    const key = brandStateKey(brand);
    const parse = parseBrandState(key);
    const read = await readOrDamage(readDocument(store, key, parse));
    const states = 'value' in read ? read.value : parse(undefined);
    const withLedgers = ledgers.filter((each) => each.brand === brand);
    const others = Object.values(reports)
      .filter(({ name }) => ('damage' in read && withLedgers.length === 0) || states.reports[name])
      .filter((report) => !withLedgers.some((each) => each.report === report))
      .map((report) => ({ report, brand, months: [] }));
    const clocks = oneClock(() => realNowMs);
    return [...withLedgers, ...others].map((each, index) => ({
      ...each,
      state: stateOfReport(states, each.report.name, clocks),
      // Named once, though the document is about all reports of the brand.
      damaged: index === 0 ? damageIn({ key }, read) : [],
    }));
  });
  return (await Promise.all(byBrand)).flat();
}

export function readLedgers(
  store: ObjectStore,
  reports: ReportRegistry,
  span: MonthSpan = {},
  realNowMs?: number,
): Promise<ReportLedgers[]> {
  return readWantedLedgers(store, reports, (month) => isInSpan(month, span), realNowMs);
}

/** @param found the ledgers of the lake, or of some brands; missing: lists all */
export async function readWantedLedgers(
  store: ObjectStore,
  reports: ReportRegistry,
  needs: NeedsMonth,
  realNowMs = Number.POSITIVE_INFINITY,
  found?: ListedDocuments,
): Promise<ReportLedgers[]> {
  const listed = await readStates(store, reports, realNowMs, found);
  const all = listed.map(({ report, brand, state, ...others }) => {
    const of: ReportStates = { brand, report, state };
    return { of, ...others };
  });
  /** The state of a day of lookups depends on the committed day that they look up, so both ledgers are needed. */
  const isWanted = (month: string, of: ReportStates) =>
    all.some(
      (other) =>
        (other.of === of || (other.of.brand === of.brand && looksUp(other.of.report, of.report))) &&
        needs(month, other.of),
    );
  const tables = [...new Set(listed.map(({ report }) => report))];
  const stored = new Map(
    await Promise.all(
      tables.map(async (report) => {
        const schema = await undamaged(readSchema(store, report));
        return [report, schema && { columns: schema.columns, newColumns: newColumnsOf(schema) }] as const;
      }),
    ),
  );
  const settings = await readBrandSettings(
    store,
    reports,
    listed.map(({ brand }) => brand),
  );
  return Promise.all(
    all.map(async ({ of, months, damaged }) => {
      const { brand, report, state } = of;
      const read = await Promise.all(
        months
          .filter((month) => isWanted(month, of))
          .map(async (month) => {
            const ledger = await readOrDamage(readLedger(store, report, brand, month, realNowMs));
            return {
              ledger,
              damaged: damageIn({ key: ledgerKey(report.name, brand, month), month }, ledger),
            };
          }),
      );
      const readable = read.flatMap(({ ledger }) => ('value' in ledger ? [ledger.value] : []));
      const lost = monthsWithDays(state).filter((month) => !months.includes(month) && isWanted(month, of));
      const ofLost = lost.map((month) => {
        const key = ledgerKey(report.name, brand, month);
        return { key, month, message: damagedDocument(key, lostLedger(month)).message };
      });
      const faults = [...damaged, ...ofLost, ...read.flatMap((each) => each.damaged)];
      return {
        ...of,
        inLake: settings.get(brand),
        ...stored.get(report),
        // A damaged state lacks that the report has returned records; the ledgers show it.
        state: { ...state, hasReturnedRecords: state.hasReturnedRecords || hasRows(readable) },
        ledgers: new Map(readable.map((ledger) => [ledger.month, ledger])),
        damaged: faults.sort((a, b) => (a.key < b.key ? -1 : 1)),
      };
    }),
  );
}

function looksUp({ day }: ReportDefinition, other: ReportDefinition): boolean {
  return day.by === 'upstream' && day.report === other.name;
}

function damageIn(
  document: Pick<DamagedDocument, 'key' | 'month'>,
  read: Awaited<ReturnType<typeof readOrDamage>>,
): DamagedDocument[] {
  return 'damage' in read ? [{ ...document, message: read.damage.message }] : [];
}

/** The ledger of a month; empty if the lake has no such ledger. @throws BrandReportsError `config` if it is damaged */
export function readLedger(
  store: ObjectStore,
  report: ReportDefinition,
  brand: string,
  month: string,
  realNowMs = Number.POSITIVE_INFINITY,
): Promise<Ledger> {
  const key = ledgerKey(report.name, brand, month);
  const parse = parseLedger(
    key,
    { report: report.name, brand, month },
    oneClock(() => realNowMs),
  );
  return readDocument(store, key, parse);
}

export function readSchema(store: ObjectStore, report: ReportDefinition): Promise<StoredSchema> {
  return readDocument(store, schemaKey(report.table), parseStoredSchema(report));
}

export function daysOfLedgers(reports: readonly ReportLedgers[]): DayOfLedger[] {
  return reports.flatMap(({ brand, report, ledgers }) =>
    [...ledgers.values()]
      .flatMap(({ days }) => Object.entries(days))
      .map(([day, entry]) => ({ brand, report, day, entry }))
      .sort((a, b) => (a.day < b.day ? -1 : 1)),
  );
}

export function committedDays(reports: readonly ReportLedgers[]): CommittedDay[] {
  return daysOfLedgers(reports).flatMap(({ entry: { committed }, ...day }) =>
    committed ? [{ ...day, committed }] : [],
  );
}

/** By table of the report, in the order in which they are published: the id of a committed day's object. */
export function snapshotsByTable(
  { table }: Pick<ReportDefinition, 'table'>,
  { snapshot, history }: DayObjects,
): [table: string, snapshot: string][] {
  const { object } = history ?? {};
  return [
    ...(object ? [[beforeTable(table), object.snapshot] satisfies [string, string]] : []),
    [table, snapshot],
  ];
}

async function readDocument<T>(store: ObjectStore, key: string, parse: (stored: Json | undefined) => T) {
  const stored = await store.get(key);
  return parse(stored && parseJsonDocument(key, stored.body));
}
