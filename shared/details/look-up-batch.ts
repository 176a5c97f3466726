import { forEachConcurrent } from '../concurrency.ts';
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { Lookup, UpstreamRecord } from '../reports/definition.ts';
import { lookUp } from '../service/lookup.ts';
import { isEndOfRun } from '../service/retry.ts';
import type { RunContext } from '../context/context.ts';

/** What the service answered to one lookup: its records, or a refusal; a failure of this lookup alone counts as one. */
export interface LookupAnswer {
  key: string;
  records: JsonObject[];
  refusal?: BrandReportsError;
}

/**
 * Looks up several records at a time.
 * @returns the answers, in the order of the batch; where a lookup fails, those before it, and a failure
 */
export async function lookUpBatch(
  ctx: RunContext,
  lookup: Lookup,
  batch: readonly UpstreamRecord[],
  refusals: Refusals,
): Promise<{ answers: LookupAnswer[]; failure?: BrandReportsError }> {
  const answered = new Map<string, LookupAnswer>();
  const failures: BrandReportsError[] = [];
  await forEachConcurrent(batch, ctx.daysInFlight, async (record) => {
    try {
      answered.set(record.key, await lookUpOne(ctx, lookup, record, refusals));
    } catch (thrown) {
      failures.push(rethrowBugs(thrown));
      throw thrown;
    }
  }).catch(rethrowBugs);
  // Those that the run had no time for do not say why.
  const failure = failures.find((failed) => !isEndOfRun(failed)) ?? failures[0];
  const isServices = failure !== undefined && !isEndOfRun(failure);
  const isMissing = ({ key }: UpstreamRecord) =>
    !answered.has(key) || (isServices && answered.get(key)?.refusal?.kind === 'transient');
  const firstMissing = batch.findIndex(isMissing);
  const answers = batch
    .slice(0, firstMissing === -1 ? batch.length : firstMissing)
    .flatMap(({ key }) => answered.get(key) ?? []);
  return { answers, ...(failure && { failure }) };
}

async function lookUpOne(
  ctx: RunContext,
  lookup: Lookup,
  upstream: UpstreamRecord,
  refusals: Refusals,
): Promise<LookupAnswer> {
  const { key } = upstream;
  try {
    const records = await lookUp(ctx.service, ctx.report.action, lookup, upstream);
    refusals.countAnswer();
    return { key, records };
  } catch (thrown) {
    const { kind, code, message, context } = rethrowBugs(thrown);
    const about = `${message} (looking up ${ctx.service.quote(key)})`;
    const error = new BrandReportsError(kind, code, about, { context });
    // A redirect comes from the address, not from the record that was asked for.
    if (isEndOfRun(error) || code === 'redirect') throw error;
    if (kind === 'contract') refusals.add(key, error);
    else if (kind === 'transient' && ctx.service.hasAnswered) refusals.addUnanswered(error);
    else throw error;
    return { key, records: [], refusal: error };
  }
}

/** Refusals without one answer: the service refuses the action, not the records. */
const MAX_REFUSED_WITHOUT_ANSWER = 9;
/** The same of a day that failed before: an outage of the action should cost few requests an hour. */
const MAX_REFUSED_AFTER_FAILURE = 1;
/** New refusals in a run, with fewer answers. */
const MAX_REFUSED = 100;
/** Lookups in a row that got no answer, however often they were sent: the service is unavailable. */
const MAX_UNANSWERED = 2;

/** The refusals that a run meets while it looks up a day. */
export interface Refusals {
  readonly met: readonly BrandReportsError[];
  countAnswer(): void;
  /** @throws the refusal, where there are so many that the service must refuse the action itself */
  add(key: string, refusal: BrandReportsError): void;
  /** A lookup got no answer. @throws the failure, where that is not the fault of this lookup alone */
  addUnanswered(failure: BrandReportsError): void;
  /** The first refusal, as one of the action itself. */
  ofAction(): BrandReportsError;
}

/**
 * @param wasRefused whether an earlier run was refused the lookup: another refusal of it says nothing about the service
 * @param hasAnswered whether the service has answered any lookup in this run, of whatever day
 * @param hasFailed whether the day failed the last time
 */
export function createRefusals(
  wasRefused: (key: string) => boolean,
  hasAnswered: () => boolean,
  hasFailed: boolean,
): Refusals {
  const met: BrandReportsError[] = [];
  let answers = 0;
  let refusedAnew = 0;
  let unanswered = 0;
  const asRefusedAction = ({ kind, code, message, context }: BrandReportsError) =>
    new BrandReportsError(
      kind,
      code,
      `${message}; lookups refused: ${met.length}, answered: ${answers}, so the service must refuse the action itself: the day waits for a later run`,
      { context },
    );
  return {
    met,
    countAnswer() {
      answers += 1;
      unanswered = 0;
    },
    addUnanswered(failure) {
      unanswered += 1;
      if (unanswered > MAX_UNANSWERED) throw failure;
      met.push(failure);
    },
    add(key, refusal) {
      unanswered = 0;
      met.push(refusal);
      if (!wasRefused(key)) refusedAnew += 1;
      const limit = answers === 0 ? MAX_REFUSED_WITHOUT_ANSWER : Math.max(MAX_REFUSED, answers);
      const isRefused = hasAnswered()
        ? refusedAnew > limit
        : met.length > (hasFailed ? MAX_REFUSED_AFTER_FAILURE : limit);
      if (isRefused) throw asRefusedAction(refusal);
    },
    ofAction() {
      const [first] = met;
      if (!first) throw new Error('a lookup was refused');
      return asRefusedAction(first);
    },
  };
}
