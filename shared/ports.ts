/*
 * What the core needs from outside, each behind the smallest sufficient interface: a lake is a folder or a bucket with
 * Glue, the service is HTTP or a double in a test. `test/contracts` tests every adapter against what is documented here.
 */
import type { JsonObject } from './json.ts';
import type { Column } from './column-types.ts';
import type { RecordList } from './records/record-list.ts';
import type { View } from './reports/definition.ts';

/** Time as the core sees it. */
export interface Clock {
  /** By which a run plans, where it is earlier than the machine's and the service's time: `--now`, or an event's `now`. */
  fixedNow?: Date;
  /** The machine's time in milliseconds: leases and backoff; nothing overrides it. */
  wallMs: () => number;
  /** Milliseconds since any instant, of a clock that nobody sets: deadlines, rates, and how long something takes. */
  monotonicMs: () => number;
  /** The signal ends it early; it then may reject. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls `tick` every `ms` until the returned function is called; does not keep the process alive. */
  every: (ms: number, tick: () => void) => () => void;
}

/** The bytes of an object, and the etag of that version. */
export interface StoredObject {
  body: Uint8Array;
  etag: string;
}

/** An object as a listing shows it. */
export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

/** `ifMatch`: replace only the version with this etag. `ifAbsent`: create, replace nothing. */
export type Precondition = { ifMatch: string } | { ifAbsent: true };

/** `conflict`: the precondition did not hold; nothing was written (or an earlier attempt of this same call wrote it). */
export type PutOutcome = { etag: string } | 'conflict';

/** A streamed object: it exists in full once `finish` resolves; before that, and after `abort`, it does not exist. */
export interface ObjectWriter {
  write(bytes: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  abort(): Promise<void>;
}

/**
 * The lake's objects. Keys are relative to the lake, with `/` between their parts.
 * Failures are BrandReportsErrors: `transient` where a later attempt may succeed, `config` where an operator must act.
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
  /** What a versioned bucket keeps of objects that were deleted or replaced, and its delete markers; missing: nothing is kept. */
  readonly noncurrent?: {
    list(prefix: string): AsyncIterable<NoncurrentVersion>;
    delete(versions: readonly NoncurrentVersion[]): Promise<void>;
  };
}

/** A version of an object that is not current, or a delete marker, which has no bytes. */
export interface NoncurrentVersion extends Pick<ListedObject, 'key' | 'bytes'> {
  version: string;
}

/** Which runs are alive, as far as the lake can detect it. */
export interface RunRegistry {
  /** Registers the run until the returned function is called or the process has ended, in whatever way. */
  register(run: string): Promise<() => Promise<void>>;
  /** True only where the run has certainly ended; false where it is alive or unknown. */
  isDead(run: string): Promise<boolean>;
}

/** How many requests a run may send to a brand's service. */
export interface RateSource {
  /** Requests per second at this moment; 0: none. */
  readonly requestsPerSecond: number;
  /**
   * Has to be called before each request, and again soon where the rate is 0: a run that does not call has no rate.
   * @throws BrandReportsError where no rate can be had
   */
  claim(): Promise<void>;
}

/** Partition keys in order, e.g. `[['brand','acme'],['dt','2026-01-31']]`. */
export type Partition = readonly (readonly [key: string, value: string])[];

/** Values of a partition key, as text, both ends included. */
export interface ValueRange {
  from: string;
  to: string;
}

/** A table as a catalog shows it. */
export interface TableShape {
  name: string;
  /** One sentence for people. */
  description: string;
  partitionKeys: readonly string[];
  columns: readonly TableColumn[];
  /** The table at whose snapshots of days the partitions point; missing: this one. */
  snapshotsOf?: string;
}

/** A column as a catalog shows it. */
export interface TableColumn extends Column {
  /** For people. A catalog that shows another one gets this one; missing: what it shows stays. */
  description?: string;
}

/** What SQL engines read to find the snapshots: a projection of the ledgers that can always be rebuilt from them. */
export interface Catalog {
  /** Creates the table, or brings it the columns, the description and the parameters that it lacks; removes no column (I7). */
  ensureTable(table: TableShape): Promise<void>;
  /** Creates the view, or replaces one that differs. The tables and columns that it reads must exist. */
  ensureView(view: View): Promise<void>;
  /** The id of the snapshot that the partition points at; `undefined` where it points at none. */
  snapshotOf(table: string, partition: Partition): Promise<string | undefined>;
  /** Points the partition at the snapshot, whose objects must exist. */
  setSnapshot(table: TableShape, partition: Partition, snapshot: string): Promise<void>;
  /** Removes a partition, if it is there. */
  removePartition(table: string, partition: Partition): Promise<void>;
  /**
   * The snapshot ids that the catalog points at, by partition path (`brand=acme/dt=2026-01-31`), below the leading keys.
   * @param within only partitions whose next key has a value in this range, both ends included
   */
  snapshotsByPartition(
    table: string,
    leading: Partition,
    within?: ValueRange,
  ): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** The metadata that readers of an Iceberg table find, and the way to replace it. */
export interface IcebergHead {
  /** Missing: there is no table yet, or it points elsewhere. */
  metadata?: Uint8Array;
  /** Where the table points, if that is at no metadata that this program has written there. */
  foreign?: string;
  /** Compare-and-swap. @returns `false` if another writer was faster: then nothing has changed for readers */
  replace(metadata: Uint8Array, shape: TableShape): Promise<boolean>;
}

/** Where readers find the metadata of Iceberg tables; the objects that it names are in the lake's store. */
export interface IcebergCatalog {
  /** The address of the lake as metadata names it, without `/` at its end: `s3://bucket/prefix`, `file:///home/me/lake`. */
  readonly url: string;
  load(table: string): Promise<IcebergHead>;
}

/** An open lake: its objects, the runs that work in it, and its catalog. */
export interface Lake {
  store: ObjectStore;
  runs: RunRegistry;
  /** Missing for a lake in S3 without a database: the ledgers alone say which snapshots are current. */
  catalog?: Catalog;
  /** Missing where `catalog` is. */
  iceberg?: IcebergCatalog;
}

/** What is told to the people who look after a pipeline: plain text. */
export interface Message {
  /** One line of ASCII, 100 characters at most. */
  subject: string;
  text: string;
}

/** Tells the people who look after a pipeline. */
export interface Notifier {
  /** @throws BrandReportsError where it was not told, or where that is not known */
  tell(message: Message): Promise<void>;
}

/** What happened in the lake, for other people's programs (docs/reference/events.md). */
export interface LakeEvent {
  type: 'Day Published' | 'Day Changed' | 'Problem Opened' | 'Problem Solved';
  detail: JsonObject;
}

/** Receives events. */
export interface EventSink {
  /** How many `send` takes at once; missing: 10. A failure leaves all of them to the next run. */
  readonly atOnce?: number;
  /** Resolves once all were received; may be called again with the same events. @throws BrandReportsError */
  send(events: readonly LakeEvent[]): Promise<void>;
}

/** What signs the requests of a brand (docs/explanation/interface.md, section 5). */
export interface Credentials {
  bid: string;
  token: string;
  secret: string;
  /** The only address that they may be sent to; missing: whichever the settings name. */
  baseUrl?: string;
}

/** Where a brand's credentials come from. Its errors are `config` or `auth` and never contain what was read (I9). */
export interface CredentialSource {
  /** Reads them from their source, past any cache. */
  read(brand: string): Promise<Credentials>;
}

/** One signed request. */
export interface HttpRequest {
  url: string;
  method: 'POST' | 'GET';
  headers: Record<string, string>;
  body: string | undefined;
}

/** The headers of a response that are used. */
export interface HttpHeaders {
  date?: string | undefined;
  age?: string | undefined;
  'retry-after'?: string | undefined;
}

/** A response: the body as decompressed bytes, empty where the body of an error could not be read. */
export interface HttpResponse {
  status: number;
  headers: HttpHeaders;
  body: Uint8Array;
}

/**
 * `failed`: no whole response came; e.g. `timeout`, `cut_off` or the network's own `ECONNRESET`. `isStale`: because the
 * service had closed the connection, which was kept from an earlier request; most probably it has not received this one.
 */
export type HttpResult = HttpResponse | { failed: string; isStale?: true } | { tooLargeBytes: number };

/** Sends one request and reads the whole response. Never rejects and never follows a redirect. */
export type SendRequest = (
  request: HttpRequest,
  limits: {
    /** For everything, from the connection to the last byte of the body. */
    timeoutMs: number;
    signal: AbortSignal | undefined;
    /** Called as soon as status and headers have arrived. */
    onHeaders: (headers: HttpHeaders) => void;
  },
) => Promise<HttpResult>;

/** Which of several waiting requests is sent first (`service/request-queue.ts`). */
export interface Turn {
  /** Before all others: what must not wait for a long catching up. */
  urgent: boolean;
  /** Reports take turns where nothing is urgent. */
  report: string;
  /** The lowest first, e.g. the place of the day in the plan. */
  rank: number;
  /** The clock skew that the work was planned with: the call fails where it was corrected since. */
  clockSkewMs?: number;
}

/** A response of the service: `code` is 0 and `data` is an object. */
export interface ServiceResponse {
  envelope: JsonObject;
  data: JsonObject;
  /** The records that `data[field]` held, where they could be read by their bytes: that list is empty then. */
  scanned?: { field: string; records: RecordList };
}

/** The brand-side service (docs/explanation/interface.md): signed, rate-limited, retried calls. */
export interface ReportService {
  /**
   * @param action e.g. `report/order_list`
   * @param fields the action's own fields; numbers may be RawNumbers
   * @param signal cancels this one call
   * @throws BrandReportsError `transient`, `contract`, `auth` or `config`
   */
  call(action: string, fields: JsonObject, signal?: AbortSignal): Promise<ServiceResponse>;
  /** The same service, whose calls wait with this turn; without one they are urgent, with rank 0. */
  inOrder(turn: Turn): ReportService;
  /** Whether the service has accepted any request of the run: until then a refusal may mean the credentials. */
  readonly hasAnswered: boolean;
  /** Whether it has accepted a request of this action in this run: until then a refusal may mean the action. */
  hasAnsweredTo(action: string): boolean;
  /** Text from the service for a message or a log: on one line, short, and without credentials (I9). */
  quote(text: string): string;
  /** Clock skew: service time minus local time, ms; 0 while they agree within 2 s, or responses do not show another. */
  readonly clockSkewMs: number;
}
