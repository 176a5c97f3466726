/**
 * Judges a lake after each run by the service's responses at the last reading of each day:
 * - every partition has exactly the service's records, and no record is lost;
 * - no column ever changes its type.
 */
import type { Column, ColumnType } from '../../shared/column-types.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import { readSchema } from '../../shared/lake/documents/read.ts';
import { newColumnsOf } from '../../shared/lake/documents/schema.ts';
import type { Lake } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { findingsOf } from '../../shared/findings/findings.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { type LivingBrand, changesBetween, heldTable, wordAt } from '../simulation/brand.ts';
import {
  BRAND,
  type Entries,
  ledgerEntries,
  rowsOf as rowsIn,
  wrongPointers,
} from '../simulation/contents.ts';
import { asShownBy, formOfRecord, formOfRow, unlike } from '../simulation/forms.ts';

/** Findings of fields come and go with the releases of the brand: test/findings/field-findings.test.ts. */
const OF_FIELDS: ReadonlySet<string> = new Set(['new_column', 'emptied_column']);

/** A content of a day. */
interface SeenVersion {
  /** The ledger's latest entry for this content. */
  committed: Committed;
  /** Forms of the rows, in no order. */
  rows: string[];
}

export interface Judge {
  /** The faults; an empty list is right. */
  readonly findings: string[];
  /** Every finding of the product so far that is not about fields: check, table and day. */
  readonly odd: ReadonlySet<string>;
  readonly figures: {
    readings: number;
    /** A day that changed while it was read is judged by its next reading. */
    changedWhileRead: number;
    versions: number;
    rows: number;
  };
  /** By table and day: every content that was committed when a run had ended, the oldest first. */
  readonly seen: Map<string, SeenVersion[]>;
  /** Judges the lake after a run. @param run when it ended (ms), and whether it reported itself as complete */
  look(run: { endMs: number; isComplete: boolean }): Promise<void>;
}

const DETAILS = 'click_details';

export function createJudge(brand: LivingBrand, lake: Lake, settings: Settings): Judge {
  const odd = new Set<string>();
  const types = new Map<string, ColumnType>();
  const readingSeen = new Map<string, string>();
  const findings: string[] = [];
  const figures = { readings: 0, changedWhileRead: 0, versions: 0, rows: 0 };
  const seen: Judge['seen'] = new Map();
  const found = (text: string) => void findings.push(text);

  async function look({ endMs, isComplete }: { endMs: number; isComplete: boolean }) {
    for (const report of Object.values(reports)) {
      const columns = await columnsOf(report);
      const entries = await ledgerEntries(lake.store, report.name);
      for (const [day, { committed, superseded = [] }] of entries) {
        if (!committed) continue;
        await noteReplaced(report, day, { committed, columns, superseded });
        await judgeReading(report, day, committed, columns, endMs);
      }
      for (const text of await oddities(report, entries)) odd.add(text);
      if (isComplete) findings.push(...(await wrongPointers(lake, report, entries)));
    }
  }

  async function oddities(report: ReportDefinition, entries: Entries): Promise<string[]> {
    const policy = enabledPolicy(settings, BRAND, report);
    const entryOn = (day: string) => entries.get(day);
    const newColumns = newColumnsOf(await readSchema(lake.store, report));
    return [...entries.keys()].flatMap((day) =>
      findingsOf({ day, report, entryOn, policy, newColumns }).flatMap(({ check }) =>
        OF_FIELDS.has(check) ? [] : [`${check} ${report.table} ${day}`],
      ),
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
    // test/torture compares the details of clicks.
    if (report.table === DETAILS) return;
    const table = heldTable(report);
    const fromMs = Date.parse(committed.readFrom);
    if (changesBetween(brand, table, day, { fromMs, toMs: endMs })) {
      figures.changedWhileRead += 1;
      return;
    }
    const toMs = Date.parse(committed.readTo);
    const shown = wordAt(brand, table, day, fromMs).filter(({ living }) => living.atMs <= toMs);
    const expected = shown.map(({ record }) => formOfRecord(asShownBy(columns, record), columns));
    const { missing, surplus } = unlike(expected, rows);
    if (missing.length > 0) found(`${at}: lost: ${missing.join('; ')}`);
    if (surplus.length > 0) found(`${at}: too much: ${surplus.join('; ')}`);
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
    versions.push({ committed, rows });
    return rows;
  }

  return { findings, odd, figures, seen, look };
}
