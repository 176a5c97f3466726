import { describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../../shared/errors.ts';
import { retryWhileAccessDenied } from '../../../shared/adapters/aws/retry-access-denied.ts';
import { virtualTime } from '../../fakes/virtual-time.ts';

const refusal = new BrandReportsError('config', 'aws_refused', 'AccessDenied');

describe('a call that AWS refuses', () => {
  it('is retried until it is allowed', async () => {
    const time = virtualTime(0);
    let tries = 0;
    const work = async () => {
      tries += 1;
      if (time.wallMs() < 30_000) throw refusal;
      return 'done';
    };
    expect(await retryWhileAccessDenied(time, work)).toBe('done');
    expect(tries).toBe(time.slept.length + 1);
  });

  it('fails after a minute', async () => {
    const time = virtualTime(0);
    await expect(retryWhileAccessDenied(time, () => Promise.reject(refusal))).rejects.toBe(refusal);
    expect(time.wallMs()).toBe(60_000);
  });

  it.each([
    ['another failure of AWS', new BrandReportsError('transient', 'aws_unavailable', 'later')],
    ['another mistake of an operator', new BrandReportsError('config', 'database_missing', 'none')],
    ['a bug', new TypeError('none')],
  ])('is distinguished from %s, which is not retried', async (_name, failure) => {
    const time = virtualTime(0);
    await expect(retryWhileAccessDenied(time, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(time.slept).toEqual([]);
  });
});
