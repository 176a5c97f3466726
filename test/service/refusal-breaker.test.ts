import { describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { createRefusalBreaker } from '../../shared/service/refusal-breaker.ts';

const refusal = new BrandReportsError('contract', 'service_code', 'acme: the service answered code 1001', {
  context: { brand: 'acme', action: 'report/order_list' },
});

/** Requests that enter together, and the names of the requests that were let through so far. */
function entering(breaker: ReturnType<typeof createRefusalBreaker>) {
  const through: string[] = [];
  const failed: string[] = [];
  return {
    through,
    failed,
    enter: (name: string, signal?: AbortSignal) =>
      void breaker.enter(signal).then(
        () => through.push(name),
        (error) => failed.push(`${name}: ${String(error.code)}`),
      ),
  };
}

/** Runs all pending microtasks. */
const settled = () => new Promise(setImmediate);

describe('until the service has accepted a request', () => {
  it('I10: after two refusals the waiting requests fail, and no further request enters', async () => {
    const breaker = createRefusalBreaker();
    const { enter, through, failed } = entering(breaker);
    for (const name of ['a', 'b', 'c', 'd']) enter(name);
    breaker.refused(refusal);
    breaker.leave();
    await settled();
    expect(failed).toEqual([]);
    breaker.refused(refusal);
    breaker.leave();
    await settled();
    expect(through).toEqual(['a', 'b']);
    expect(failed).toEqual(['c: refused', 'd: refused']);
    const message =
      'acme: the service answered code 1001. The service refused the first 2 requests, so this run sends no more: further refusals could lock the account';
    await expect(breaker.enter(undefined)).rejects.toMatchObject({
      ...{ kind: 'auth', code: 'refused', message },
      context: { brand: 'acme', action: 'report/order_list' },
    });
  });

  it('a request that is stopped while it waits leaves its place to the others', async () => {
    const breaker = createRefusalBreaker();
    const { enter, through, failed } = entering(breaker);
    const stop = new AbortController();
    enter('a');
    enter('stopped', stop.signal);
    enter('b');
    stop.abort();
    breaker.leave();
    await settled();
    expect(through).toEqual(['a', 'b']);
    expect(failed).toEqual(['stopped: stopped']);
  });
});

describe('once the service has accepted a request', () => {
  it('waiting requests go together, and further requests go at once', async () => {
    const breaker = createRefusalBreaker();
    const { enter, through } = entering(breaker);
    for (const name of ['a', 'b', 'c']) enter(name);
    breaker.accepted();
    expect(breaker.hasAccepted).toBe(true);
    await settled();
    expect(through).toEqual(['a', 'b', 'c']);
    enter('d');
    await settled();
    expect(through).toEqual(['a', 'b', 'c', 'd']);
  });

  it('requests go one at a time after a refusal, until a request is accepted', async () => {
    const breaker = createRefusalBreaker();
    const { enter, through } = entering(breaker);
    enter('a');
    breaker.accepted();
    breaker.leave();
    enter('b');
    breaker.refused(refusal);
    for (const name of ['c', 'd', 'e']) enter(name);
    await settled();
    expect(through).toEqual(['a', 'b']);
    breaker.leave();
    await settled();
    expect(through).toEqual(['a', 'b', 'c']);
    breaker.accepted();
    await settled();
    expect(through).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
