import { fullJitterMs } from '../base/backoff.ts';
import { Batch } from '../base/concurrency.ts';
import type { Json } from '../base/json.ts';
import type { Clock, ObjectStore } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import {
  CATALOG_STAMP_KEY,
  WATCH_KEY,
  closeKey,
  brandStateKey,
  ledgerKey,
  progressKey,
  leaseKey,
  schemaKey,
} from './paths.ts';
import {
  CasDocument,
  type CasDocumentOptions,
  DOCUMENT_RETRY,
  type HasRecentWrites,
} from './cas-document.ts';
import type { Row } from '../table/columns.ts';
import { type BrandLease, UNKNOWN_HOLDER, parseBrandLease } from './brand-lease.ts';
import { parseCatalogStamp } from './catalog-stamp.ts';
import { type Close, parseClose } from './close.ts';
import { type Ledger, parseLedger } from './ledger.ts';
import { type BrandState, type ReportStateDocument, parseBrandState, reportStateIn } from './report-state.ts';
import { type Progress, parseProgress } from './progress.ts';
import { parseStoredSchema } from './schema.ts';
import { lostLedger, snapshotMonths } from './lost-documents.ts';
import { type RealClocks, oneClock } from './stored-time.ts';
import { parseWatchRecord } from './watch-record.ts';

/** What a report changes in a table made from ledgers, whose object has the rows of all reports of a brand. */
export interface RowsOfReport {
  report: string;
  /** @param stored the rows of the report that the table has */
  rowsOf(stored: readonly Row[]): readonly Row[] | Promise<readonly Row[]>;
  failure?: unknown;
}

export interface DocumentAccess {
  store: ObjectStore;
  newId: () => string;
  clock: Pick<Clock, 'sleep' | 'wallMs'>;
  /** The clocks by which stored times are judged; missing: the machine's. */
  clocks?: RealClocks;
  random: () => number;
}

export type LakeDocuments = ReturnType<typeof createLakeDocuments>;

/** A report that looks up another report reuses its ledgers and its state without a second read. */
export function createLakeDocuments({
  store,
  newId,
  clock,
  random,
  clocks = oneClock(clock.wallMs),
}: DocumentAccess) {
  const pause = (tries: number) => clock.sleep(fullJitterMs(tries, DOCUMENT_RETRY, random()));
  const create = <T extends HasRecentWrites>(
    key: string,
    parse: (stored: Json | undefined) => T,
    options: Partial<Pick<CasDocumentOptions<T>, 'first' | 'recovers' | 'whenMissing'>> = {},
  ) => new CasDocument({ store, key, parse, newId, pause, ...options });
  const ledgers = new Map<string, CasDocument<Ledger>>();
  const brandStates = new Map<string, CasDocument<BrandState>>();
  const ledgerTables = new Map<string, Batch<RowsOfReport>>();
  /** One list serves all months without a ledger: a first backfill has many such months, and other runs read no such month. */
  const listed = new Map<string, ReturnType<typeof snapshotMonths>>();
  const monthsOf = async (table: string, brand: string) => {
    const reading = listed.get(`${table} ${brand}`) ?? snapshotMonths(store, table, brand);
    listed.set(`${table} ${brand}`, reading);
    return (await reading).get(brand);
  };
  return {
    reportState(report: string, brand: string): ReportStateDocument {
      const key = brandStateKey(brand);
      // Without hints the next run reads all months; everything else is in the ledgers. A run reads the state before it
      // has the service's time, so it judges no time in it.
      const state = brandStates.get(key) ?? create(key, parseBrandState(key), { recovers: true });
      brandStates.set(key, state);
      return reportStateIn(state, report);
    },
    ledger({ name, table }: Pick<ReportDefinition, 'name' | 'table'>, brand: string, month: string) {
      const key = ledgerKey(name, brand, month);
      const parse = parseLedger(key, { report: name, brand, month }, clocks);
      const whenMissing = async () =>
        (await monthsOf(table, brand))?.has(month) ? lostLedger(month) : undefined;
      const ledger = ledgers.get(key) ?? create(key, parse, { whenMissing });
      ledgers.set(key, ledger);
      return ledger;
    },
    ledgerTable(table: string, brand: string): Batch<RowsOfReport> {
      const batch = ledgerTables.get(`${table} ${brand}`) ?? new Batch();
      ledgerTables.set(`${table} ${brand}`, batch);
      return batch;
    },
    progress(
      report: string,
      brand: string,
      day: string,
      attempt: string,
      first?: Progress,
    ): CasDocument<Progress> {
      const key = progressKey(report, brand, day, attempt);
      return create(key, parseProgress(key), first && { first });
    },
    schema: (report: ReportDefinition) => create(schemaKey(report.table), parseStoredSchema(report)),
    /** @param draft written if the month of the brand is not closed yet */
    close(draft: Close): CasDocument<Close> {
      const key = closeKey(draft.brand, draft.month);
      return create(key, (stored) => (stored === undefined ? draft : parseClose(key, stored)));
    },
    lease(brand: string): CasDocument<BrandLease> {
      const key = leaseKey(brand);
      return create(key, parseBrandLease(key), { recovers: UNKNOWN_HOLDER });
    },
    // Reporting each problem a second time is better than reporting nothing from then on.
    watchRecord: () => create(WATCH_KEY, parseWatchRecord(WATCH_KEY), { recovers: true }),
    // Without the stamp, the catalog is compared with every ledger once more.
    catalogStamp: () => create(CATALOG_STAMP_KEY, parseCatalogStamp(CATALOG_STAMP_KEY), { recovers: true }),
  };
}
