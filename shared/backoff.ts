// Computes how long to wait before another attempt. Without jitter, callers that failed together would try again
// together and fail together. To change a retry rule, change its constant. This table has every rule of the project;
// the constants of the program end in `_RETRY`. The waits have full jitter unless the table excludes it.
//
// | what                            | constant, file                                                          | attempts  | base              | cap   |
// | ------------------------------- | ----------------------------------------------------------------------- | --------- | ----------------- | ----- |
// | a call of the brand's service   | SERVICE_RETRY, service/retry.ts                                         | 6         | 500 ms            | 30 s  |
// | a write of a shared document    | DOCUMENT_RETRY, lake/documents/cas-document.ts                          | 40        | 10 ms             | 1 s   |
// | a day that failed (no jitter)   | FAILED_DAY_RETRY, lake/documents/ledger.ts                              | unlimited | 5 min             | 24 h  |
// | a day that the service did not  | UNAVAILABLE_DAY_RETRY, lake/documents/ledger.ts (no jitter)             | unlimited | 5 min             | 1 h   |
// | answer, or refused with a code  | at least the Retry-After, up to the cap                                 |           |                   |       |
// | a lookup that was refused       | REFUSED_LOOKUP_RETRY, planning/lookups.ts (no jitter)                   | 8         | 1 h               | 24 h  |
// | a lookup without a record       | EMPTY_LOOKUP_RETRY, planning/lookups.ts (no jitter, four times as long) | 5         | 1 h               | 72 h  |
// | a conditional write to S3       | S3_WRITE_RETRY, adapters/aws/s3-store.ts                                | 6         | 50 ms             | 1 s   |
// | a change of a Glue table        | GLUE_RETRY, adapters/aws/glue-catalog.ts                                | 10        | 20 ms             | 1 s   |
// | an event that its bus refused   | EVENT_RETRY, adapters/aws/event-bridge.ts                               | 6         | 100 ms            | 5 s   |
// | the lock of a lake folder       | LOCK_RETRY, adapters/local/lock.ts                                      | 1000      | 1 ms              | 50 ms |
// | any request to AWS (by its SDK) | awsClientOptions, adapters/aws/errors.ts                                | 5         | the SDK's own     |       |
// | a step of the backfill: no free | addRetry, infra/backfill-state-machine.ts                               | 20        | 20 s              | 5 min |
// | instance; any other failure     |                                                                         | 2         | 1 min             | 2 min |
// | an event of a schedule          | ScheduleTarget, infra/pipeline-function.ts                              | 2         | EventBridge's own |       |

/** The waits of a retry rule, in milliseconds. */
export interface Backoff {
  /** The longest wait before the first retry. */
  baseMs: number;
  capMs: number;
}

/** Doubles from `baseMs` up to `capMs`. @param retry 0 for the first retry */
export function exponentialMs(retry: number, { baseMs, capMs }: Backoff): number {
  return Math.min(capMs, baseMs * 2 ** retry);
}

/** A random wait between 0 and the exponential backoff. @param retry 0 for the first retry @param random in [0, 1) */
export function fullJitterMs(retry: number, backoff: Backoff, random: number): number {
  return random * exponentialMs(retry, backoff);
}
