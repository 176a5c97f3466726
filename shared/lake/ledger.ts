/** What is published, one document per report, brand and month (`ledger/<report>/<brand>/<YYYY-MM>.json`). */
export interface Ledger {
  version: 1;
  report: string;
  brand: string;
  /** `YYYY-MM` */
  month: string;
  days: Record<string, DayEntry>;
  /** Ids of the last writes, so that a writer whose answer was lost finds its own. */
  recent: string[];
}

export interface DayEntry {
  published?: Published;
  claim?: Claim;
  failure?: Failure;
  /** The `--from/--to` request under which the day was last read. */
  request?: string;
}

/** The current snapshot of a day and the reading that it rests on. Times are ISO 8601 in UTC. */
export interface Published {
  /** The snapshot's id; its object is `snapshotKey(table, partition, snapshot)`. */
  snapshot: string;
  replaces?: string;
  /** Whether the catalog is known to point at `snapshot`. */
  switched: boolean;
  rows: number;
  bytes: number;
  digest: string;
  /** `open`: everything known up to `readTo`. `closed`: one pass that began after the day ended. */
  state: 'open' | 'closed';
  settled: boolean;
  /** How many passes in a row had this digest. */
  agreeing: number;
  /** When the snapshot's content was first read. */
  syncedAt: string;
  attempt: string;
  pages: number;
  readFrom: string;
  readTo: string;
  /** Fingerprint of what was asked: filters, zone, units, date semantics, key. */
  asked: string;
}

/** Who reads the day now. Without a progress document `at` is the lease's last renewal. */
export interface Claim {
  attempt: string;
  run: string;
  /** Wall clock, ISO 8601. */
  at: string;
  /** How often a refused cursor has restarted the reading. */
  restarts: number;
}

export interface Failure {
  since: string;
  times: number;
  kind: string;
  code: string;
  message: string;
  /** Until then the day goes to the back of the plan. */
  retryAt: string;
}
