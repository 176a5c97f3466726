import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import type { Progress } from '../lake/documents/progress.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
import type { ReportLog } from '../log-events.ts';
import type { Clock, Lake, ReportService } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import type { Policy } from '../planning/due.ts';

/** The time that a run has, wall clock in milliseconds. */
export interface Deadline {
  /** From then on nothing new is begun. */
  softMs: number;
  /** From then on the process may be gone: a publication must be over. */
  hardMs: number;
}

/** One report of one brand in a lake: all that its part of the catalog is made again from. */
export interface BrandReport {
  brand: string;
  report: ReportDefinition;
  /** Missing where the settings know the brand no more. */
  policy: Policy | undefined;
  lake: Lake;
  clock: Clock;
  log: ReportLog;
  newId: () => string;
  ledger(month: string): CasDocument<Ledger>;
  schema: CasDocument<StoredSchema>;
}

/** One report of one brand in one run: what every step of the pipeline works with. */
export interface RunContext extends BrandReport {
  /** The run's id. */
  runId: string;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
  service: ReportService;
  deadline: Deadline | undefined;
  /** Days read at the same time. */
  daysInFlight: number;
  /** How many days the whole run has begun: even one without time completes a unit of work. */
  units: { begun: number };
  /** Leases only spare double work: without them runs take each other's days over, and only requests grow. */
  leases: boolean;
  progress(day: string, attempt: string): CasDocument<Progress>;
  /** Of a report about another report's records: that one's table and ledger. */
  upstream?: { table: string; ledger(month: string): CasDocument<Ledger> };
}

/** True when nothing new should be begun. */
export function outOfTime({
  deadline,
  clock,
}: {
  deadline?: Deadline | undefined;
  clock: Pick<Clock, 'wallMs'>;
}): boolean {
  return deadline !== undefined && clock.wallMs() >= deadline.softMs;
}
