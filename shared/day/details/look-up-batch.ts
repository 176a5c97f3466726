import { forEachConcurrent } from '../../base/concurrency.ts';
import { BrandReportsError, rethrowBugs } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Lookup, UpstreamRecord } from '../../reports/definition.ts';
import { lookUp } from '../../service/lookup.ts';
import { isEndOfRun } from '../../service/retry.ts';
import type { RunContext } from '../../context/context.ts';

/** The result of one lookup: its records, or a refusal. A failure of only this lookup counts as a refusal. */
export interface LookupAnswer {
  key: string;
  records: JsonObject[];
  refusal?: BrandReportsError;
}

/** @returns the answers in the order of the batch; if a lookup fails, the answers before it and the failure */
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
  // A lookup that the run had no time for does not explain a failure, so another failure is preferred.
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
    // A redirect is caused by the address, not by the requested record.
    if (isEndOfRun(error) || code === 'redirect') throw error;
    if (kind === 'contract') refusals.add(key, error);
    else if (kind === 'transient' && ctx.service.hasAnswered) refusals.addUnanswered(error);
    else throw error;
    return { key, records: [], refusal: error };
  }
}

/** After more refusals than this without an answer, the service is taken to refuse the action, not the records. */
const MAX_REFUSED_WITHOUT_ANSWER = 9;
/** The limit of new refusals in a run that has fewer answers than this; with more answers, they are the limit. */
const MAX_REFUSED = 100;
/** After more lookups in a row than this without an answer, after retries, the service is taken to be unavailable. */
const MAX_UNANSWERED = 2;

export type Refusals = ReturnType<typeof createRefusals>;

/**
 * @param wasRefused whether the service refused this lookup in an earlier run: then another refusal shows nothing new
 * @param hasAnswered whether the service has answered any lookup in this run, of any day
 */
export function createRefusals(wasRefused: (key: string) => boolean, hasAnswered: () => boolean) {
  const met: BrandReportsError[] = [];
  let answers = 0;
  let newlyRefused = 0;
  let unanswered = 0;
  const asRefusedAction = ({ kind, code, message, context }: BrandReportsError) => {
    const counts = `lookups refused: ${met.length}, answered: ${answers}`;
    const why = `${counts}, so the service seems to refuse the action itself; a later run reads the day`;
    return new BrandReportsError(kind, code, `${message}; ${why}`, { context });
  };
  return {
    met,
    countAnswer(): void {
      answers += 1;
      unanswered = 0;
    },
    /** Counts a lookup without an answer. @throws the failure, if it cannot be caused by this lookup alone */
    addUnanswered(failure: BrandReportsError): void {
      unanswered += 1;
      if (unanswered > MAX_UNANSWERED) throw failure;
      met.push(failure);
    },
    /** @throws the refusal, if there are so many that the service must refuse the action itself */
    add(key: string, refusal: BrandReportsError): void {
      unanswered = 0;
      met.push(refusal);
      if (!wasRefused(key)) newlyRefused += 1;
      const limit = answers === 0 ? MAX_REFUSED_WITHOUT_ANSWER : Math.max(MAX_REFUSED, answers);
      if ((hasAnswered() ? newlyRefused : met.length) > limit) throw asRefusedAction(refusal);
    },
    ofAction(): BrandReportsError {
      const [first] = met;
      if (!first) throw new Error('a lookup was refused');
      return asRefusedAction(first);
    },
  };
}
