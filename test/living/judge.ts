/**
 * Judges a lake after each run by the service's responses at the last reading of each day:
 * - every partition has exactly the service's records, and no record is lost;
 * - no day waits for longer than the policy allows;
 * - no column ever changes its type.
 */
import { DAY_MS, dayOf, daysFrom } from '../../shared/days.ts';
import type { Column, ColumnType } from '../../shared/column-types.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import { readSchema } from '../../shared/lake/documents/read.ts';
import { newColumnsOf } from '../../shared/lake/documents/schema.ts';
import type { Lake } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { findingsOf } from '../../shared/findings/findings.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { settledBy } from '../../shared/planning/transitions.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import {
  type HeldTable,
  type LivingBrand,
  type Shown,
  changesBetween,
  heldTable,
  isWithin,
  wordAt,
} from '../simulation/brand.ts';
import {
  BRAND,
  type Entries,
  ledgerEntries,
  rowsOf as rowsIn,
  wrongPointers,
} from '../simulation/contents.ts';
import {
  type RowTexts,
  asShownBy,
  formOfRecord,
  formOfRow,
  textsOfRow,
  unlike,
} from '../simulation/forms.ts';
import { isNeeded, mayChange } from './policy.ts';

/** The findings whose details name columns. */
const OF_FIELDS: ReadonlySet<string> = new Set(['new_column', 'emptied_column']);

/** What was seen of a day each time that its content changed. */
export interface SeenVersion {
  /** The ledger's latest entry for this content. */
  committed: Committed;
  /** Forms of the rows, in no order. */
  rows: string[];
  /** The same rows as texts by column. */
  texts: RowTexts[];
}

export interface Judge {
  /** The faults; an empty list is right. */
  readonly findings: string[];
  /** Every finding of the product so far that is not about fields: check, table and day. */
  readonly odd: ReadonlySet<string>;
  /** Every finding about a field so far: table, column and check. */
  readonly fieldChanges: ReadonlySet<string>;
  readonly figures: {
    readings: number;
    /** A day that changed while it was read is judged by its next reading. */
    changedWhileRead: number;
    versions: number;
    rows: number;
  };
  /** By table and day: every content that was committed when a run had ended, the oldest first. */
  readonly seen: Map<string, SeenVersion[]>;
  /** When runs had ended (ms), and how many versions of each day had been seen then. */
  readonly moments: { atMs: number; versions: ReadonlyMap<string, number> }[];
  /** Every record that the service showed to a reading, by table. */
  readonly everShown: Map<string, Map<string, JsonObject>>;
  columnsOf(report: ReportDefinition): Promise<readonly Column[]>;
  /** Judges the lake after a run. @param run when it began and ended (ms), and whether it reported itself as complete */
  look(run: { startMs: number; endMs: number; isComplete: boolean }): Promise<void>;
  /** The records that each day of a table must have now. */
  expected(table: HeldTable): Map<string, JsonObject[]>;
}

const CLICKS = 'clicks';
const DETAILS = 'click_details';

/** Allowances for hardships of the pipeline. */
export interface Leniency {
  /** Up to this age, the pages that a dead run has staged are resumed. */
  resumedMs: number;
  /** Lookups without an answer are retried later, like refused lookups. */
  unansweredLookups: boolean;
}

export function createJudge(
  brand: LivingBrand,
  lake: Lake,
  startDate: string,
  { settings, leniency }: { settings: Settings; leniency: Leniency },
): Judge {
  const currentColumns = new Map<string, readonly Column[]>();
  const odd = new Set<string>();
  const fieldChanges = new Set<string>();
  const types = new Map<string, ColumnType>();
  const readingSeen = new Map<string, string>();
  const findings: string[] = [];
  const figures = { readings: 0, changedWhileRead: 0, versions: 0, rows: 0 };
  const seen: Judge['seen'] = new Map();
  const everShown: Judge['everShown'] = new Map();
  const moments: Judge['moments'] = [];
  const clicksById = new Map(
    [...brand.held.clicks.values()]
      .flat()
      .flatMap((click) =>
        click.versions.flatMap(({ record }) => (record ? [[String(record.id), click] as const] : [])),
      ),
  );
  const found = (text: string) => void findings.push(text);

  async function look({
    startMs,
    endMs,
    isComplete,
  }: {
    startMs: number;
    endMs: number;
    isComplete: boolean;
  }) {
    for (const report of Object.values(reports)) {
      const columns = await columnsOf(report);
      const entries = await ledgerEntries(lake.store, report.name);
      for (const [day, { committed, superseded = [] }] of entries) {
        if (!committed) continue;
        await noteReplaced(report, day, { committed, columns, superseded });
        await judgeReading(report, day, committed, columns, endMs);
      }
      for (const text of await oddities(report, entries)) odd.add(text);
      if (!isComplete) continue;
      judgeAge(report, entries, startMs);
      findings.push(...(await wrongPointers(lake, report, entries)));
    }
    const versions = new Map([...seen].map(([name, { length }]) => [name, length]));
    moments.push({ atMs: endMs, versions });
  }

  async function oddities(report: ReportDefinition, entries: Entries): Promise<string[]> {
    const policy = enabledPolicy(settings, BRAND, report);
    const entryOn = (day: string) => entries.get(day);
    const newColumns = newColumnsOf(await readSchema(lake.store, report));
    return [...entries.keys()].flatMap((day) =>
      findingsOf({ day, report, entryOn, policy, newColumns }).flatMap(({ check, detail }) => {
        if (!OF_FIELDS.has(check)) return [`${check} ${report.table} ${day}`];
        for (const [, column] of detail.matchAll(/(\w+) (?:\(usually in|in \d)/g))
          fieldChanges.add(`${report.table}.${column} ${check}`);
        return [];
      }),
    );
  }

  /** I7 */
  async function columnsOf(report: ReportDefinition): Promise<readonly Column[]> {
    const { columns } = await readSchema(lake.store, report);
    for (const { name, type } of columns) {
      const column = `${report.table}.${name}`;
      const before = types.get(column);
      if (before !== undefined && before !== type) found(`${column} was ${before} and is ${type}`);
      types.set(column, before ?? type);
    }
    currentColumns.set(report.table, columns);
    const names = new Set(columns.map(({ name }) => `${report.table}.${name}`));
    for (const column of types.keys())
      if (column.startsWith(`${report.table}.`) && !names.has(column)) found(`${column} is gone`);
    return columns;
  }

  async function judgeReading(
    report: ReportDefinition,
    day: string,
    committed: Committed,
    columns: readonly Column[],
    endMs: number,
  ): Promise<void> {
    const name = `${report.table} ${day}`;
    const reading = `${committed.attempt} ${committed.readFrom} ${committed.snapshot}`;
    if (readingSeen.get(name) === reading) return;
    readingSeen.set(name, reading);
    figures.readings += 1;
    const rows = await rowsOf(report, day, committed, columns);
    const at = `${committed.readFrom} ${name}`;
    if (rows.length !== committed.rows) found(`${at}: ${rows.length} rows, the ledger has ${committed.rows}`);
    if (report.table === DETAILS) return judgeDetails(at, day, committed, rows, columns, endMs);
    const table = heldTable(report);
    const fromMs = Date.parse(committed.readFrom);
    if (changesBetween(brand, table, day, { fromMs, toMs: endMs })) {
      figures.changedWhileRead += 1;
      return;
    }
    const shown = shownTo(table, day, committed).map(({ record }) => asShownBy(columns, record));
    remember(report.table, shown);
    compare(
      at,
      shown.map((record) => formOfRecord(record, columns)),
      rows,
    );
  }

  /** The service's responses during the reading. */
  function shownTo(table: HeldTable, day: string, { readFrom, readTo }: Committed): Shown[] {
    const toMs = Date.parse(readTo);
    return wordAt(brand, table, day, Date.parse(readFrom)).filter(({ living }) => living.atMs <= toMs);
  }

  /** Each committed click of the day has its detail, unless its lookup was refused. */
  function judgeDetails(
    at: string,
    day: string,
    committed: Committed,
    rows: readonly string[],
    columns: readonly Column[],
    endMs: number,
  ): void {
    const clicks = seen
      .get(`${CLICKS} ${day}`)
      ?.find(({ committed: { digest } }) => digest === committed.upstreamDigest);
    if (!clicks) found(`${at}: looked up clicks that were never committed`);
    const expected = (clicks?.rows ?? []).flatMap((row) => {
      const click = clicksById.get(idIn(row));
      return click?.detail ? [{ click, detail: click.detail }] : [];
    });
    const forms = expected.map(({ detail }) => formOfRecord(detail, columns));
    remember(
      DETAILS,
      expected.map(({ detail }) => detail),
    );
    const { surplus } = unlike(forms, rows);
    if (surplus.length > 0) found(`${at}: too much: ${surplus.join('; ')}`);
    const there = new Set(rows);
    const missing = expected.filter((_, index) => !there.has(forms[index] ?? ''));
    if (missing.length !== (committed.refusedLookups?.count ?? 0))
      found(
        `${at}: ${missing.length} details are missing, ${committed.refusedLookups?.count} are reported as refused`,
      );
    // An answer that the service gave before the last check must be there, unless all tries were used up.
    for (const { click } of leniency.unansweredLookups ? [] : missing)
      if (
        !click.refused?.some(
          (span) => isWithin(span, Date.parse(committed.readFrom)) || span.toMs > endMs - RETRIED_MS,
        )
      )
        found(
          `${at}: the detail of ${JSON.stringify(click.detail?.id)} is missing, but no lookup of it was refused`,
        );
  }

  function judgeAge(report: ReportDefinition, entries: Entries, nowMs: number): void {
    if (report.table === DETAILS) return;
    const table = heldTable(report);
    const { timeZone } = brand;
    for (const day of daysFrom(startDate, dayOf(nowMs - 1000, timeZone))) {
      const { committed, disregarded } = entries.get(day) ?? {};
      const lastAt = disregarded?.at ?? committed?.readFrom;
      const last = committed && {
        atMs: Date.parse(lastAt ?? ''),
        closed: committed.state !== 'open',
        mayChange: mayChange(
          wordAt(brand, table, day, Date.parse(committed.readFrom)).map(({ record }) => record),
          table,
        ),
      };
      if (last && nowMs - last.atMs <= leniency.resumedMs) continue;
      if (committed?.state === 'settled' && settledBy(committed) === 'given_up') continue;
      if (isNeeded(table, day, last, nowMs, { timeZone }))
        found(
          `${new Date(nowMs).toISOString()} ${table} ${day}: the last reading, ${lastAt}, is too long ago`,
        );
    }
  }

  /** Several runs at a time may have committed more than one version since the last check. */
  async function noteReplaced(
    report: ReportDefinition,
    day: string,
    {
      committed,
      columns,
      superseded,
    }: Pick<SeenVersion, 'committed'> & {
      columns: readonly Column[];
      superseded: NonNullable<DayEntry['superseded']>;
    },
  ): Promise<void> {
    const known = seen.get(`${report.table} ${day}`)?.at(-1)?.committed.snapshot;
    const from = superseded.findIndex(({ snapshot }) => snapshot === known);
    if (known === undefined || from === -1) return;
    for (const { snapshot, whole } of superseded.slice(from + 1)) {
      const state = whole === false ? 'open' : committed.state;
      await rowsOf(report, day, { ...committed, snapshot, state }, columns);
    }
  }

  async function rowsOf(
    report: ReportDefinition,
    day: string,
    committed: Committed,
    columns: readonly Column[],
  ): Promise<string[]> {
    const name = `${report.table} ${day}`;
    const versions = seen.get(name) ?? [];
    seen.set(name, versions);
    const last = versions.at(-1);
    if (last?.committed.snapshot === committed.snapshot) {
      last.committed = committed;
      return last.rows;
    }
    const read = await rowsIn(lake.store, report, day, committed.snapshot, columns);
    const rows = read.map((row) => formOfRow(row, columns));
    figures.versions += 1;
    figures.rows += rows.length;
    versions.push({ committed, rows, texts: read.map((row) => textsOfRow(row, columns)) });
    return rows;
  }

  function remember(table: string, records: readonly JsonObject[]): void {
    const known = everShown.get(table) ?? new Map<string, JsonObject>();
    everShown.set(table, known);
    for (const record of records) known.set(JSON.stringify(record), record);
  }

  function compare(at: string, expected: readonly string[], rows: readonly string[]): void {
    const { missing, surplus } = unlike(expected, rows);
    if (missing.length > 0) found(`${at}: lost: ${missing.join('; ')}`);
    if (surplus.length > 0) found(`${at}: too much: ${surplus.join('; ')}`);
  }

  function expected(table: HeldTable): Map<string, JsonObject[]> {
    const days = [...seen].filter(([name]) => name.startsWith(`${table} `));
    return new Map(
      days.map(([name, versions]) => {
        const day = name.slice(table.length + 1);
        const committed = versions.at(-1)?.committed;
        return [
          day,
          committed
            ? shownTo(table, day, committed).map(({ record }) =>
                asShownBy(currentColumns.get(table) ?? [], record),
              )
            : [],
        ];
      }),
    );
  }

  return { findings, odd, fieldChanges, figures, seen, moments, everShown, columnsOf, look, expected };
}

/** All tries of a refused lookup fit into this time. */
const RETRIED_MS = 5 * DAY_MS;

function idIn(form: string): string {
  const [, id = ''] = /\["id","text ([^"]*)"\]/.exec(form) ?? [];
  return id;
}
