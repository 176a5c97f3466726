import type { JsonObject } from './json.ts';
import type { Column } from './column-types.ts';
import type { View } from './reports/definition.ts';

/** Time as the core sees it. */
export interface Clock {
  /** The present of the plan, the days and what is recorded as read; `--now` sets it. */
  now: () => Date;
  /** The machine's own time in milliseconds: leases, backoff between requests and the age of objects. */
  wallMs: () => number;
  sleep: (ms: number) => Promise<void>;
  /** Calls `tick` again and again until the returned function is called; keeps no process alive. */
  every: (ms: number, tick: () => void) => () => void;
}

export interface StoredObject {
  body: Uint8Array;
  etag: string;
}

export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

/** `ifMatch`: only over the version with this etag. `ifAbsent`: only where nothing is. */
export type Precondition = { ifMatch: string } | { ifAbsent: true };

/** `conflict`: the precondition did not hold; nothing was written (or an earlier try of this same call wrote it). */
export type PutOutcome = { etag: string } | 'conflict';

/** A streamed object: it exists whole after `finish`, and not at all before or after `abort`. */
export interface ObjectWriter {
  write(bytes: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * The lake's objects. Keys are relative to the lake, with `/` between their parts.
 * Failures are BrandReportsErrors: `transient` where a later try may succeed, `config` where an operator must act.
 */
export interface ObjectStore {
  /** `s3://bucket/prefix` or the folder's absolute path. */
  readonly url: string;
  get(key: string): Promise<StoredObject | undefined>;
  /** Bytes `[start, end)` of an object that exists. */
  range(key: string, start: number, end: number): Promise<Uint8Array>;
  put(key: string, body: Uint8Array, precondition: Precondition): Promise<PutOutcome>;
  create(key: string): ObjectWriter;
  /** All objects whose key begins with `prefix`, in key order. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Missing keys are no error. */
  delete(keys: readonly string[]): Promise<void>;
}

/** Tells whether the process of another run is gone, where the lake can know. */
export interface RunRegistry {
  /** Marks the run as alive until the returned function is called or the process is gone, however it went. */
  register(run: string): Promise<() => Promise<void>>;
  /** True only where the run is certainly gone; false where it lives or nobody can know. */
  isDead(run: string): Promise<boolean>;
}

/** Partition keys in order, e.g. `[['brand','acme'],['dt','2026-01-31']]`. */
export type Partition = readonly (readonly [key: string, value: string])[];

export interface TableShape {
  name: string;
  partitionKeys: readonly string[];
  columns: readonly Column[];
}

/** What SQL engines read to find the snapshots: a projection of the ledger that can always be made again. */
export interface Catalog {
  /** Creates the table, or adds columns it lacks; never removes one. */
  ensureTable(table: TableShape): Promise<void>;
  /** Creates the view, or replaces it where it is another; the tables and columns that it reads exist. */
  ensureView(view: View): Promise<void>;
  /** The snapshot id the partition points at. */
  snapshotOf(table: string, partition: Partition): Promise<string | undefined>;
  /** Points the partition at the snapshot, whose objects exist. */
  setSnapshot(table: TableShape, partition: Partition, snapshot: string): Promise<void>;
  /** By partition path (`brand=acme/dt=2026-01-31`): the snapshot ids that the catalog points at, under the leading partition keys. */
  snapshotsByPartition(table: string, leading: Partition): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** A lake, opened: its objects, who is alive in it, and what SQL engines read of it. */
export interface Lake {
  store: ObjectStore;
  runs: RunRegistry;
  /** Missing for a lake in S3 without a database: the ledger alone tells what is current. */
  catalog?: Catalog;
}

export interface Credentials {
  bid: string;
  token: string;
  secret: string;
}

/** Where a brand's credentials come from. Errors are `config` or `auth` and never hold what was read. */
export interface CredentialSource {
  /** Reads them anew, past any cache. */
  read(brand: string): Promise<Credentials>;
}

/** One signed call of the brand-side service, retried as its kind of failure allows. */
export interface ReportService {
  /**
   * @param action e.g. `report/order_list`
   * @param fields the action's own fields; numbers may be RawNumbers
   * @param signal gives this one call up
   * @returns the whole envelope: `code` is 0 and `data` is an object
   * @throws BrandReportsError `transient`, `contract`, `auth` or `config`
   */
  call(
    action: string,
    fields: JsonObject,
    signal?: AbortSignal,
  ): Promise<{ envelope: JsonObject; data: JsonObject }>;
  /** Text that came from the service, made fit for messages and logs: no credential, one line, not long. */
  quote(text: string): string;
}
