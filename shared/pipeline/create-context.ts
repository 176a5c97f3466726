import { fullJitterMs } from '../backoff.ts';
import type { Json } from '../json.ts';
import { CasDocument, DOCUMENT_RETRY, type HasRecentWrites } from '../lake/documents/cas-document.ts';
import { type Ledger, parseLedger } from '../lake/documents/ledger.ts';
import { type StoredSchema, parseStoredSchema } from '../lake/documents/schema.ts';
import { ledgerKey, schemaKey } from '../lake/paths.ts';
import { type Log, bindReport } from '../log-events.ts';
import type { Clock, Lake } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { Policy } from '../planning/due.ts';
import type { BrandReport } from './context.ts';

/** What it takes to work in a lake. */
export interface LakeOptions {
  lake: Lake;
  clock: Clock;
  log: Log;
  /** In [0, 1), for backoff. */
  random: () => number;
  newId: () => string;
}

/** The ledgers of a process by their keys, so that all that work with one know the same document. */
export type LedgerCache = Map<string, CasDocument<Ledger>>;

export function createBrandReport(
  options: LakeOptions,
  of: { brand: string; report: ReportDefinition; policy: Policy | undefined; ledgers: LedgerCache },
): BrandReport {
  const { lake, clock, log, newId } = options;
  const { brand, report, policy, ledgers } = of;
  return {
    brand,
    report,
    policy,
    lake,
    clock,
    log: bindReport(log, brand, report.name),
    newId,
    ledger: (month) => ledgerDocument(options, ledgers, { report: report.name, brand, month }),
    schema: schemaDocument(options, report),
  };
}

export function schemaDocument(options: LakeOptions, report: ReportDefinition): CasDocument<StoredSchema> {
  return casDocument(options, schemaKey(report.table), parseStoredSchema(report));
}

export function ledgerDocument(
  options: LakeOptions,
  ledgers: LedgerCache,
  of: { report: string; brand: string; month: string },
): CasDocument<Ledger> {
  const key = ledgerKey(of.report, of.brand, of.month);
  const ledger = ledgers.get(key) ?? casDocument(options, key, parseLedger(key, of));
  ledgers.set(key, ledger);
  return ledger;
}

export function casDocument<T extends HasRecentWrites>(
  { lake, newId, clock, random }: LakeOptions,
  key: string,
  parse: (stored: Json | undefined) => T,
): CasDocument<T> {
  const pause = (round: number) => clock.sleep(fullJitterMs(round, DOCUMENT_RETRY, random()));
  return new CasDocument({ store: lake.store, key, parse, newId, pause });
}
