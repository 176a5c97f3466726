/**
 * The breaker stops requests after refusals. Without it, a wrong secret would be sent with every request of every day
 * in flight, which locks accounts. Until the service accepts a request, and again after a refusal, requests go one at a
 * time. If the service has refused two requests and accepted none, the run sends no more. A request that is corrected
 * and signed again (I10) counts as the same request: no other request goes in between.
 */
import { BrandReportsError } from '../base/errors.ts';
import { pause } from './retry.ts';

const MAX_REFUSALS = 2;

export function createRefusalBreaker() {
  let change = Promise.withResolvers<void>();
  let hasAccepted = false;
  let inDoubt = true;
  let underWay = 0;
  let refusals = 0;
  let open: BrandReportsError | undefined;

  function letThrough(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  return {
    get hasAccepted(): boolean {
      return hasAccepted;
    },
    /**
     * Resolves when this request may be under way; the request must `leave` in the end.
     * @throws BrandReportsError `auth` `refused` if the run sends no more requests; `transient` `stopped`
     */
    async enter(signal: AbortSignal | undefined): Promise<void> {
      while (!open && inDoubt && underWay > 0) await pause(0, () => change.promise, signal);
      if (open) throw open;
      underWay += 1;
    },
    leave(): void {
      underWay -= 1;
      letThrough();
    },
    accepted(): void {
      hasAccepted = true;
      inDoubt = false;
      letThrough();
    },
    /** @returns the error of this refusal: the same for all requests after which the run sends no more */
    refused(error: BrandReportsError): BrandReportsError {
      inDoubt = true;
      refusals += 1;
      if (hasAccepted || refusals < MAX_REFUSALS) return error;
      const message = `${error.message}. The service refused the first ${MAX_REFUSALS} requests, so this run sends no more: further refusals could lock the account`;
      open ??= new BrandReportsError('auth', 'refused', message, { context: error.context });
      letThrough();
      return open;
    },
  };
}
