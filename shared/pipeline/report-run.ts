import type { Document, Written } from '../lake/document.ts';
import type { Ledger } from '../lake/ledger.ts';
import type { Progress } from '../lake/progress.ts';
import type { TableSchema } from '../lake/columns.ts';
import type { Clock, Lake, ReportService, RunLog } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings.ts';
import type { Policy } from './plan.ts';

/** The time that a run has, wall clock in milliseconds. */
export interface Deadline {
  /** From then on nothing new is begun. */
  softMs: number;
  /** From then on the process may be gone: a publication must be over. */
  hardMs: number;
}

export type StoredSchema = { version: 1; table: string } & TableSchema & Written;

/** One report of one brand in one run: what every step of the pipeline works with. */
export interface ReportRun {
  /** The run's id. */
  run: string;
  brand: string;
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
  lake: Lake;
  service: ReportService;
  clock: Clock;
  log: RunLog;
  deadline: Deadline | undefined;
  /** Days read at the same time. */
  pagesInFlight: number;
  /** How many days the whole run has begun: even one without time completes a unit of work. */
  units: { begun: number };
  /** Leases only spare double work: without them runs take each other's days over, and only requests grow. */
  leases: boolean;
  newId: () => string;
  ledger(month: string): Document<Ledger>;
  progress(day: string, attempt: string): Document<Progress>;
  schema: Document<StoredSchema>;
  /** Of a report about another report's records: that one's table and ledger. */
  parent?: { table: string; ledger(month: string): Document<Ledger> };
}

/** True when the run should begin nothing new. */
export function outOfTime({ deadline, clock }: ReportRun): boolean {
  return deadline !== undefined && clock.wallMs() >= deadline.softMs;
}
