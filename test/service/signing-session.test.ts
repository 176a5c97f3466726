import { describe, expect, it } from '@jest/globals';
import { DAY_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import type { BrandEvent } from '../../shared/base/log-events.ts';
import type { Credentials } from '../../shared/ports.ts';
import { createServiceClock, httpDate } from '../../shared/service/server-clock.ts';
import { type Signing, createSigningSession } from '../../shared/service/signing-session.ts';

const NOW_MS = Date.parse('2026-11-03T15:20:00Z');
const baseUrl = 'https://api.example.com/acme?tenant=1';
const old: Credentials = { bid: '12', token: 'old-token-0001', secret: 'old-secret-0001' };
const renewed: Credentials = { bid: '12', token: 'new-token-0002', secret: 'new-secret-0002' };

/** A session whose source returns these one after the other, then always the last. Errors are thrown. */
function sessionWith(...sequence: (Credentials | Error)[]) {
  const brands: string[] = [];
  const log: BrandEvent[] = [];
  const clock = createServiceClock(() => NOW_MS);
  const source = {
    async read(brand: string) {
      const given = sequence[Math.min(brands.length, sequence.length - 1)];
      brands.push(brand);
      if (given === undefined || given instanceof Error) throw given ?? new Error('no credentials');
      return { ...given };
    },
  };
  /** A response whose date shows that the service's clock is this much ahead. */
  const learn = (aheadMs: number) => clock.learn({ date: httpDate(NOW_MS + aheadMs) }, NOW_MS, NOW_MS);
  return {
    session: createSigningSession({ brand: 'acme', baseUrl, credentials: source }, clock, (event) =>
      log.push(event),
    ),
    clock,
    learn,
    brands,
    log,
  };
}

const unreadable = new BrandReportsError('transient', 'aws_unavailable', 'not now');

describe('a request', () => {
  it('is signed with the brand’s credentials and the current clock', async () => {
    const { session, clock, learn, brands } = sessionWith(old);
    expect(await session.sign()).toEqual({ credentials: old, skewMs: 0, isCorrected: false });
    learn(300_000);
    expect(await session.sign()).toEqual({ credentials: old, skewMs: clock.skewMs, isCorrected: false });
    expect(clock.skewMs ?? 0).toBeGreaterThan(290_000);
    expect(brands).toEqual(['acme']);
  });

  it('shares one read of the credentials with requests that are signed at the same time', async () => {
    const { session, brands } = sessionWith(old, renewed);
    const signed = await Promise.all([session.sign(), session.sign(), session.sign()]);
    expect(signed.map(({ credentials }) => credentials.token)).toEqual([old.token, old.token, old.token]);
    expect(brands).toHaveLength(1);
  });

  it('fails if the credentials cannot be read, and the next request reads them again', async () => {
    const { session, brands } = sessionWith(unreadable, old);
    await expect(session.sign()).rejects.toBe(unreadable);
    expect(await session.sign()).toEqual({ credentials: old, skewMs: 0, isCorrected: false });
    expect(brands).toHaveLength(2);
  });
});

describe('after a refusal', () => {
  const signedOnce = async (...sequence: (Credentials | Error)[]) => {
    const made = sessionWith(...sequence);
    return { ...made, refused: await made.session.sign() };
  };

  it('I10: a request is signed again with the service’s time if the clocks differ', async () => {
    const { session, learn, refused, brands } = await signedOnce(old, renewed);
    learn(600_000);
    const again = await session.signAgain(refused);
    expect(Math.abs((again?.skewMs ?? 0) - 600_000)).toBeLessThanOrEqual(1_000);
    expect(brands).toHaveLength(1);
  });

  it('I10: one response with a large difference is enough to sign that request again, and no other', async () => {
    const { session, learn, refused } = await signedOnce(old, renewed);
    learn(20 * DAY_MS);
    const again = await session.signAgain(refused);
    expect(Math.abs((again?.skewMs ?? 0) - 20 * DAY_MS)).toBeLessThanOrEqual(1_000);
    expect(await session.sign()).toMatchObject({ skewMs: 0 });
  });

  it.each([
    { shows: 'by one second', skewMs: 1_000, isAgain: false },
    { shows: 'by more', skewMs: 1_001, isAgain: true },
    { shows: 'by less the other way', skewMs: -1_000, isAgain: false },
    { shows: 'by more the other way', skewMs: -1_001, isAgain: true },
  ])('I10: clocks count as different, or not, if they differ $shows', async ({ skewMs, isAgain }) => {
    const { session, refused } = await signedOnce(old);
    expect((await session.signAgain({ ...refused, skewMs })) !== undefined).toBe(isAgain);
  });

  it('I10: a request is signed again with another time once, whatever the later responses show', async () => {
    const { session, learn, refused } = await signedOnce(old);
    learn(600_000);
    const again = await session.signAgain(refused);
    learn(-600_000);
    expect(again && (await session.signAgain(again))).toBeUndefined();
    const next = await session.sign();
    learn(3_600_000);
    expect(await session.signAgain(next)).toBeDefined();
  });

  it('I10: the credentials are read again, and the request is signed again only if they changed', async () => {
    const { session, refused, brands } = await signedOnce(old, renewed);
    expect(await session.signAgain(refused)).toMatchObject({ credentials: renewed });
    expect((await session.sign()).credentials).toEqual(renewed);
    expect(brands).toHaveLength(2);
  });

  it.each<[string, Credentials, boolean]>([
    ['the same', old, false],
    ['another bid', { ...old, bid: '13' }, true],
    ['another token', { ...old, token: 'new' }, true],
    ['another secret', { ...old, secret: 'new' }, true],
  ])('I10: credentials count as changed, or not, with %s', async (_name, after, isAgain) => {
    const { session, refused } = await signedOnce(old, after);
    expect((await session.signAgain(refused)) !== undefined).toBe(isAgain);
    expect((await session.sign()).credentials).toEqual(after);
  });

  it('I10: the credentials are read again once in a run', async () => {
    const { session, refused, brands } = await signedOnce(old, renewed, old);
    const isAgain = async (signing: Signing) => (await session.signAgain(signing)) !== undefined;
    expect(await Promise.all([isAgain(refused), isAgain(refused)])).toEqual([true, true]);
    expect(await isAgain(await session.sign())).toBe(false);
    expect(brands).toHaveLength(2);
  });

  it('I10: credentials that cannot be read again are kept, and that is logged', async () => {
    const { session, refused, log } = await signedOnce(old, unreadable);
    expect(await session.signAgain(refused)).toBeUndefined();
    expect((await session.sign()).credentials).toEqual(old);
    expect(log).toEqual([{ event: 'credentials_not_reread' }]);
  });
});

describe('the address of the credentials', () => {
  const elsewhere = { ...renewed, baseUrl: 'https://evil.example.com/acme?tenant=1' };

  it.each([
    ['as in the settings', baseUrl],
    ['with the port of its scheme', 'https://api.example.com:443/acme?tenant=1'],
    ['with its host in capitals', 'https://API.example.com/acme?tenant=1'],
  ])('may equal the address in the settings: %s', async (_name, allowed) => {
    const { session } = sessionWith({ ...old, baseUrl: allowed });
    expect((await session.sign()).credentials.token).toBe(old.token);
  });

  it.each([
    ['scheme', 'http://127.0.0.1/acme?tenant=1'],
    ['host', 'https://api.example.org/acme?tenant=1'],
    ['port', 'https://api.example.com:8443/acme?tenant=1'],
    ['path', 'https://api.example.com/globex?tenant=1'],
    ['query string', 'https://api.example.com/acme?tenant=2'],
  ])('I9: refuses to sign for another %s, and names both', async (_name, allowed) => {
    const { session } = sessionWith({ ...old, baseUrl: allowed });
    const refusal = session.sign();
    await expect(refusal).rejects.toMatchObject({ kind: 'config', code: 'other_base_url' });
    const shown = allowed.replace(/tenant=./, '…');
    const message = `brand acme to https://api.example.com/acme?…, but its credentials are for ${shown} only`;
    await expect(refusal).rejects.toThrow(message);
  });

  it('I9: is checked again when the credentials are read again', async () => {
    const { session } = sessionWith(old, elsewhere);
    const refresh = session.signAgain(await session.sign());
    await expect(refresh).rejects.toMatchObject({ code: 'other_base_url' });
    expect((await session.sign()).credentials).toEqual(old);
  });

  it('I9: is shown without a bid', async () => {
    const { session } = sessionWith({ ...old, baseUrl: 'https://api.example.com/12' });
    await expect(session.sign()).rejects.toThrow('are for https://api.example.com/[redacted] only');
  });
});

describe('text of the service', () => {
  it('I9: is quoted without any credentials that were read, on one line', async () => {
    const { session } = sessionWith(old, renewed);
    await session.signAgain(await session.sign());
    const secrets = [old.token, old.secret, renewed.token, renewed.secret];
    expect(session.quote(secrets.join('\n'))).toBe(secrets.map(() => '[redacted]').join(' '));
    expect(session.quote('of bid 12')).toBe('of bid [redacted]');
  });

  it('I9: is also quoted before any credentials were read', () => {
    expect(sessionWith(old).session.quote('no\tsuch cursor')).toBe('no such cursor');
  });
});
