/**
 * `repair` finds all documents of a lake that cannot be parsed, and restores them from data that is left elsewhere. Without
 * it, one damaged byte would make a month, a report or a table unreadable until somebody edits JSON by hand.
 * A repair loses nothing: it copies the damaged bytes first, and replaces the document only if it still has these bytes
 * (compare-and-swap). If a restored document lacks information, the outcome contains a note, and the next run reads more
 * rather than less. Readers keep what is published (I3).
 */
import type { Json } from '../json.ts';
import { monthOf } from '../days.ts';
import { asBrandReportsError, BrandReportsError } from '../errors.ts';
import { parseJsonDocument } from '../lake/documents/cas-document.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { loseVersion, parseLedger } from '../lake/documents/ledger.ts';
import { daysOfLedgers, readLedgers } from '../lake/documents/read.ts';
import { parseReportState, withErased } from '../lake/documents/report-state.ts';
import { parseProgress } from '../lake/documents/progress.ts';
import { parseRateBudget } from '../lake/documents/rate-budget.ts';
import { parseStoredSchema } from '../lake/documents/schema.ts';
import {
  LEDGERS_PREFIX,
  RATES_PREFIX,
  damagedCopyKey,
  isProgressKey,
  isRateBudgetKey,
  parseReportStateKey,
  parseLedgerKey,
  reportRawPrefix,
  schemaKey,
} from '../lake/paths.ts';
import type { ObjectStore } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { type LostVersion, lostVersions } from './lost-versions.ts';
import { type RestoreOptions, restoreLedger } from './restore-ledger.ts';
import { type Restored, restoreSchema } from './restore-schema.ts';

/** The order of repairs: report states come first, because the repair of a ledger writes to the report state. */
const KINDS = ['state', 'progress', 'rate', 'schema', 'ledger', 'version'] as const;

type DocumentKind = (typeof KINDS)[number];

/** How a repair treats a document of each kind. */
const REMEDIES: Record<DocumentKind, string> = {
  state: 'empty it: the next runs rebuild it from the ledgers',
  progress: 'empty it: runs work without it, and read the staged pages of its attempt again',
  rate: 'empty it: runs forget its content within a minute, and share the rate again',
  schema: 'restore it from the columns of the snapshots',
  ledger: 'restore it from the published versions: readers keep them, and the next runs read its days again',
  version: 'note in the ledger that this older version is lost: its rows are in no other object',
};

/** A document that cannot be parsed, and the result of its repair. */
export interface DamagedDocument {
  key: string;
  kind: DocumentKind;
  problem: string;
  remedy: string;
  /** `changed`: another program wrote it in the meantime, so it was left alone. */
  outcome: 'damaged' | 'repaired' | 'changed' | 'failed';
  /** The key of the copy of its bytes. */
  copy?: string;
  /** What was done, what could not be restored, or why it failed. */
  notes: string[];
}

/** The result of a repair. */
export interface RepairOutcome {
  /** `damaged`: at least one document is still damaged. */
  status: 'ok' | 'repaired' | 'damaged';
  documents: DamagedDocument[];
}

/** The input of a repair. */
export interface RepairOptions extends RestoreOptions {
  /** `false`: nothing is changed. */
  apply: boolean;
}

/** Finds every damaged document of the reports and, if `apply` is set, restores it. */
export async function repairLake(options: RepairOptions): Promise<RepairOutcome> {
  const found: Found[] = [];
  for await (const document of documentsOf(options)) {
    const damaged = await findDamage(options.lake.store, document);
    if (damaged) found.push(damaged);
  }
  found.sort((a, b) => KINDS.indexOf(a.document.kind) - KINDS.indexOf(b.document.kind));
  const documents: DamagedDocument[] = [];
  for (const each of found) documents.push(await treat(options, each));
  for (const ledgers of await readLedgers(options.lake.store, options.reports))
    for (const version of (await lostVersions(options.lake.store, ledgers)).lost)
      documents.push(await treatVersion(options, version));
  if (documents.length === 0) return { status: 'ok', documents };
  const isRepaired = documents.every(({ outcome }) => outcome === 'repaired');
  return { status: isRepaired ? 'repaired' : 'damaged', documents };
}

/** A document of the lake: how it is read, and how it is restored if that fails. */
interface LakeDocument {
  key: string;
  kind: DocumentKind;
  parse: (stored: Json | undefined) => object;
  restore: (damaged: Uint8Array) => Promise<Restored>;
}

interface Found {
  document: LakeDocument;
  problem: string;
  body: Uint8Array;
  etag: string;
}

async function* documentsOf(options: RepairOptions): AsyncGenerator<LakeDocument> {
  const { lake, reports } = options;
  const { store } = lake;
  for await (const { key } of store.list(LEDGERS_PREFIX)) {
    const stateOf = parseReportStateKey(key);
    if (stateOf && Object.hasOwn(reports, stateOf.report)) yield stateDocument(options, key, stateOf);
    const of = parseLedgerKey(key);
    const report = of && Object.hasOwn(reports, of.report) ? reports[of.report] : undefined;
    if (of && report) yield ledgerOf(options, key, { report, brand: of.brand, month: of.month });
  }
  for (const report of Object.values(reports)) {
    const parse = parseStoredSchema(report);
    yield {
      key: schemaKey(report.table),
      kind: 'schema',
      parse,
      restore: () => restoreSchema(options, report),
    };
    for await (const { key } of store.list(reportRawPrefix(report.name)))
      if (isProgressKey(key)) yield emptied(key, 'progress', parseProgress(key));
  }
  for await (const { key } of store.list(RATES_PREFIX)) {
    if (isRateBudgetKey(key)) yield emptied(key, 'rate', parseRateBudget(key));
  }
}

function emptied(key: string, kind: DocumentKind, parse: LakeDocument['parse']): LakeDocument {
  return { key, kind, parse, restore: async () => ({ document: parse(undefined), notes: [] }) };
}

/** Keeps only the erased days, from which a ledger that is damaged later can be restored. */
function stateDocument(
  { lake, reports }: RepairOptions,
  key: string,
  of: { report: string; brand: string },
): LakeDocument {
  const parse = parseReportState(key);
  const restore = async () => {
    const ledgers = await readLedgers(lake.store, reports);
    const erased = daysOfLedgers(ledgers)
      .filter(({ report, brand }) => report.name === of.report && brand === of.brand)
      .flatMap(({ day, entry }) => (entry.erasedAt === undefined ? [] : { from: day, to: day }));
    const empty = parse(undefined);
    return { document: erased.length > 0 ? withErased(empty, erased, []) : empty, notes: [] };
  };
  return { key, kind: 'state', parse, restore };
}

function ledgerOf(
  options: RepairOptions,
  key: string,
  scope: { report: ReportDefinition; brand: string; month: string },
): LakeDocument {
  const { report, brand, month } = scope;
  const parse = parseLedger(key, { report: report.name, brand, month });
  return { key, kind: 'ledger', parse, restore: () => restoreLedger(options, scope) };
}

async function findDamage(store: ObjectStore, document: LakeDocument): Promise<Found | undefined> {
  const stored = await store.get(document.key);
  if (!stored) return undefined;
  try {
    document.parse(parseJsonDocument(document.key, stored.body));
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof BrandReportsError) || thrown.code !== 'damaged_document') throw thrown;
    return { document, problem: String(thrown.context.problem), ...stored };
  }
}

/** Restores a document if `apply` is set. A failure is recorded for this document and does not stop the others. */
async function treat(options: RepairOptions, found: Found): Promise<DamagedDocument> {
  const { document, problem } = found;
  const { key, kind } = document;
  const described = { key, kind, problem, remedy: REMEDIES[kind] };
  if (!options.apply) return { ...described, outcome: 'damaged', notes: [] };
  try {
    return { ...described, ...(await replace(options, found)) };
  } catch (thrown) {
    return { ...described, outcome: 'failed', notes: [asBrandReportsError(thrown).message] };
  }
}

/** The ledger still names the version, so queries of its time report missing rows instead of rows of another version. */
async function treatVersion(
  { apply, lake, ...access }: RepairOptions,
  { day: { report, brand, day }, snapshot, key, problem }: LostVersion,
): Promise<DamagedDocument> {
  const described = {
    key,
    kind: 'version' as const,
    problem: `it ${problem}`,
    remedy: REMEDIES.version,
    notes: [],
  };
  if (!apply) return { ...described, outcome: 'damaged' };
  const documents = createLakeDocuments({ store: lake.store, ...access });
  await documents
    .ledger(report.name, brand, monthOf(day))
    .update((ledger) => loseVersion(ledger, day, snapshot));
  return { ...described, outcome: 'repaired' };
}

async function replace(
  options: RepairOptions,
  { document, body, etag }: Found,
): Promise<Pick<DamagedDocument, 'outcome' | 'copy' | 'notes'>> {
  const { store } = options.lake;
  const { key, kind } = document;
  const copy = damagedCopyKey(key, new Date(options.clock.wallMs()));
  if ((await store.put(copy, body, { ifAbsent: true })) === 'conflict') {
    return { outcome: 'failed', notes: [`${copy} exists: repair again in a second`] };
  }
  const { document: next, notes } = await document.restore(body);
  const bytes = Buffer.from(`${JSON.stringify(next)}\n`);
  document.parse(parseJsonDocument(key, bytes));
  if ((await store.put(key, bytes, { ifMatch: etag })) === 'conflict')
    return { outcome: 'changed', copy, notes: ['another program wrote it in the meantime: repair again'] };
  if (kind === 'ledger') await forgetDueTime(options, key);
  return { outcome: 'repaired', copy, notes };
}

/** The report state may record that no day of the month is due. Without this hint the next run reads the month. */
async function forgetDueTime({ lake, ...access }: RepairOptions, key: string): Promise<void> {
  const of = parseLedgerKey(key);
  if (!of) return;
  const documents = createLakeDocuments({ store: lake.store, ...access });
  await documents.reportState(of.report, of.brand).update((state) => {
    const { [of.month]: forgotten, ...months } = state.months;
    return forgotten ? { ...state, months } : state;
  });
}
