/*
 * Declares what the core needs from outside, as the smallest sufficient interfaces. A lake is a folder or a bucket with
 * Glue; the service is HTTP or a double in a test. The tests in `test/contracts` test every adapter against this
 * documentation.
 */
import type { JsonObject } from './base/json.ts';
import type { Column } from './base/column-types.ts';
import type { RecordList } from './records/record-list.ts';
import type { View } from './reports/definition.ts';

export interface Clock {
  /** The time by which a run plans, if it is earlier than both clocks: `--now`, or an event's `now`. */
  fixedNow?: Date;
  /** The machine's time in milliseconds, for leases and backoff; nothing overrides it. */
  wallMs: () => number;
  /** Milliseconds of a monotonic clock since an arbitrary instant: for deadlines, rates and durations. */
  monotonicMs: () => number;
  /** Sleeps. The signal ends the sleep early; the promise may then reject. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls `tick` every `ms` until the returned function is called; does not keep the process alive. */
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

/** `ifMatch`: replace only the version with this etag. `ifAbsent`: create, replace nothing. */
export type Precondition = { ifMatch: string } | { ifAbsent: true };

/** `conflict`: the precondition did not hold. Nothing was written, or an earlier attempt of this same call wrote it. */
export type PutOutcome = { etag: string } | 'conflict';

/** A streamed object. It exists in full once `finish` resolves; before that, and after `abort`, it does not exist. */
export interface ObjectWriter {
  write(bytes: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * The lake's objects. Keys are relative to the lake, with `/` between their parts. Failures are BrandReportsErrors:
 * `transient` if a later attempt may succeed, `config` if an operator must act.
 */
export interface ObjectStore {
  /** `s3://bucket/prefix` or the folder's absolute path. */
  readonly url: string;
  /** The absolute path of a lake that is a folder: `<localFolder>/<key>` is the object's file. */
  readonly localFolder?: string;
  get(key: string): Promise<StoredObject | undefined>;
  /** Bytes `[start, end)` of an object that exists. */
  range(key: string, start: number, end: number): Promise<Uint8Array>;
  put(key: string, body: Uint8Array, precondition: Precondition): Promise<PutOutcome>;
  create(key: string): ObjectWriter;
  /** All objects whose key begins with `prefix`, in key order. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Deletes objects; a key without an object is not an error. */
  delete(keys: readonly string[]): Promise<void>;
  /**
   * Bytes that are not current: in a versioned bucket all deleted or replaced objects, and delete markers; in a folder the
   * bytes that the last conditional replacement of an object replaced. Missing: nothing is kept.
   */
  readonly noncurrent?: {
    /** The versions of a key follow each other, the newest first; `modifiedAt` is when the version was written. */
    list(prefix: string): AsyncIterable<NoncurrentVersion>;
    /** The bytes of the version; `undefined` if it is no longer kept. */
    get(version: NoncurrentVersion): Promise<Uint8Array | undefined>;
    delete(versions: readonly NoncurrentVersion[]): Promise<void>;
  };
}

/** A version of an object that is not current, or a delete marker, which has no bytes. */
export interface NoncurrentVersion extends ListedObject {
  version: string;
}

/** Which runs are alive, as far as the lake can detect it. */
export interface RunRegistry {
  /** Registers the run until the returned function is called or the process has ended, for whatever reason. */
  register(run: string): Promise<() => Promise<void>>;
  /** True only if the run has certainly ended; false if it is alive or unknown. */
  isDead(run: string): Promise<boolean>;
}

/** Partition keys in order, e.g. `[['brand','acme'],['dt','2026-01-31']]`. */
export type Partition = readonly (readonly [key: string, value: string])[];

/** Values of a partition key, as text, both ends included. */
export interface ValueRange {
  from: string;
  to: string;
}

export interface TableShape {
  name: string;
  /** One sentence for people. */
  description: string;
  partitionKeys: readonly string[];
  columns: readonly TableColumn[];
}

export interface TableColumn extends Column {
  /** For people. A catalog replaces a different description by this one; missing: the catalog keeps its description. */
  description?: string;
}

/** What SQL engines read to find the snapshots: a projection of the ledgers that can always be rebuilt from them. */
export interface Catalog {
  /** Creates the table, or adds missing columns and updates description and parameters; removes no column (I7). */
  ensureTable(table: TableShape): Promise<void>;
  /** Creates the view, or replaces it if it differs. The tables and columns that it reads must exist. */
  ensureView(view: View): Promise<void>;
  /** Points the partition at the snapshot, whose objects must exist. */
  setSnapshot(table: TableShape, partition: Partition, snapshot: string): Promise<void>;
  removePartition(table: string, partition: Partition): Promise<void>;
  /**
   * The snapshot ids that the catalog points at, by partition path (`brand=acme/dt=2026-01-31`), below the leading
   * keys.
   * @param within only partitions whose next key has a value in this range, both ends included
   */
  snapshotsByPartition(
    table: string,
    leading: Partition,
    within?: ValueRange,
  ): Promise<ReadonlyMap<string, readonly string[]>>;
}

export interface IcebergHead {
  /** Missing: there is no table yet, or it points at metadata that this program has not written there. */
  metadata?: Uint8Array;
  /** Compare-and-swap. @returns `false` if another writer was faster: readers then see no change */
  replace(metadata: Uint8Array, shape: TableShape): Promise<boolean>;
}

/** Where readers find the metadata of Iceberg tables; the objects that it references are in the lake's store. */
export interface IcebergCatalog {
  /** The address of the lake in the metadata, without a trailing `/`: `s3://bucket/prefix`, `file:///home/me/lake`. */
  readonly url: string;
  load(table: string): Promise<IcebergHead>;
}

export interface Lake {
  store: ObjectStore;
  runs: RunRegistry;
  /** Missing for a lake in S3 without a database: only the ledgers record which snapshots are current. */
  catalog?: Catalog;
  /** Missing if `catalog` is missing. */
  iceberg?: IcebergCatalog;
}

/** A message to the people who run a pipeline: plain text. */
export interface Message {
  /** One line of ASCII, 100 characters at most. */
  subject: string;
  text: string;
}

export interface Notifier {
  /** @throws BrandReportsError if the message was not sent, or if that is unknown */
  tell(message: Message): Promise<void>;
}

/** An event in the lake, for other people's programs (docs/reference/events.md). */
export interface LakeEvent {
  type: 'Day Published' | 'Day Changed' | 'Problem Opened' | 'Problem Solved';
  detail: JsonObject;
}

export interface EventSink {
  /** How many events `send` accepts at once; missing: 10. A failure leaves all of them to the next run. */
  readonly atOnce?: number;
  /** Resolves once all events were received; may be called again with the same events. @throws BrandReportsError */
  send(events: readonly LakeEvent[]): Promise<void>;
}

/** What signs the requests of a brand (docs/explanation/interface.md, section 5). */
export interface Credentials {
  bid: string;
  token: string;
  secret: string;
  /** The only address that the credentials may be sent to; missing: the address in the settings. */
  baseUrl?: string;
}

/** The source of a brand's credentials. Its errors are `config` or `auth` and never contain what was read (I9). */
export interface CredentialSource {
  /** Reads the credentials from their source and bypasses any cache. */
  read(brand: string): Promise<Credentials>;
}

export interface HttpRequest {
  url: string;
  method: 'POST' | 'GET';
  headers: Record<string, string>;
  body: string | undefined;
}

export interface HttpHeaders {
  date?: string | undefined;
  age?: string | undefined;
  'content-encoding'?: string | undefined;
  'content-length'?: string | undefined;
  'retry-after'?: string | undefined;
}

/** A response: the body as decompressed bytes, empty if the body of an error could not be read. */
export interface HttpResponse {
  status: number;
  headers: HttpHeaders;
  body: Uint8Array;
}

/**
 * `failed`: no whole response arrived, e.g. `timeout`, `cut_off` or the network's own `ECONNRESET`. `detail` is more for
 * a message, without text from outside.
 */
export type HttpResult = HttpResponse | { failed: string; detail?: string } | { tooLargeBytes: number };

/** Sends one request and reads the whole response. Never rejects and never follows a redirect. */
export type SendRequest = (
  request: HttpRequest,
  limits: {
    /** For the whole exchange, from the connection to the last byte of the body. */
    timeoutMs: number;
    signal: AbortSignal | undefined;
    /** Called as soon as status and headers have arrived. */
    onHeaders: (headers: HttpHeaders) => void;
  },
) => Promise<HttpResult>;

/** Decides which of several waiting requests is sent first (`service/request-queue.ts`). */
export interface Turn {
  /** Before all other requests, because it must not wait for a long backfill. */
  urgent: boolean;
  /** Reports take turns if no request is urgent. */
  report: string;
  /** The lowest rank goes first, e.g. the place of the day in the plan. */
  rank: number;
  /** The call is sent for the service's time, so it is not retried once a response has shown the time. */
  asksTime?: true;
}

/** A response of the service: `code` is 0 and `data` is an object. */
export interface ServiceResponse {
  envelope: JsonObject;
  data: JsonObject;
  /** The records of `data[field]`, if their bytes could be scanned; that list is empty in `data` then. */
  scanned?: { field: string; records: RecordList };
}

/** The brand-side service (docs/explanation/interface.md): signed, rate-limited, retried calls. */
export interface ReportService {
  /** @throws BrandReportsError `transient`, `contract`, `auth` or `config` */
  call(action: string, fields: JsonObject, signal?: AbortSignal): Promise<ServiceResponse>;
  /** The same service, whose calls wait with this turn. Calls without a turn are urgent, with rank 0. */
  inOrder(turn: Turn): ReportService;
  /** Whether the service has accepted any request of the run: until then a refusal may be caused by the credentials. */
  readonly hasAnswered: boolean;
  /** The same for one action: until then a refusal may be caused by the action. */
  hasAnsweredTo(action: string): boolean;
  /** Text from the service for a message or a log: on one line, short, and without credentials (I9). */
  quote(text: string): string;
  /** Service time minus local time, ms; 0 while they agree within 2 s, `undefined` until responses show it. */
  readonly clockSkewMs: number | undefined;
}
