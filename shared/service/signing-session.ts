/**
 * I10: signs the requests of one run. A non-zero `code` does not tell whether the clock, the credentials or the fields
 * are wrong, so a refused request is signed again, once, with another time that the last response showed. Otherwise the
 * credentials are read again, once per run, and the request is signed again only if they changed.
 */
import { isDeepStrictEqual } from 'node:util';
import { BrandReportsError } from '../base/errors.ts';
import type { BrandLog } from '../base/log-events.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import type { ServiceClock } from './server-clock.ts';
import { OTHER_BASE_URL, readCredentials } from './credentials.ts';
import { quoted, quotedAround, redactor } from './redact.ts';

export interface Signing {
  credentials: Credentials;
  skewMs: number;
  /** Whether the request was refused before and is signed again with another time. */
  isCorrected: boolean;
}

const MIN_SKEW_CHANGE_MS = 1_000;

export function createSigningSession(
  { brand, baseUrl, credentials: source }: { brand: string; baseUrl: string; credentials: CredentialSource },
  clock: ServiceClock,
  log: BrandLog,
) {
  const known: Credentials[] = [];
  let redact = redactor([]);
  let current: Promise<Credentials> | undefined;
  let rereading: Promise<void> | undefined;

  async function read(): Promise<Credentials> {
    const credentials = await readCredentials(source, brand, baseUrl);
    known.push(credentials);
    redact = redactor(known);
    return credentials;
  }

  function credentials(): Promise<Credentials> {
    current ??= read().catch((error) => {
      current = undefined;
      throw error;
    });
    return current;
  }

  async function reread(before: Credentials): Promise<void> {
    try {
      const after = await read();
      if (!isDeepStrictEqual(before, after)) current = Promise.resolve(after);
    } catch (error) {
      if (error instanceof BrandReportsError && error.code === OTHER_BASE_URL) throw error;
      log({ event: 'credentials_not_reread' });
    }
  }

  return {
    /** @throws BrandReportsError of the credential source */
    async sign(): Promise<Signing> {
      return { credentials: await credentials(), skewMs: clock.skewMs ?? 0, isCorrected: false };
    },
    /**
     * After a refusal: another signature with which a retry may succeed; `undefined` if there is none.
     * @throws BrandReportsError if the credentials, read again, are for another address
     */
    async signAgain(refused: Signing): Promise<Signing | undefined> {
      const { lastSkewMs: skewMs } = clock;
      if (!refused.isCorrected && Math.abs(skewMs - refused.skewMs) > MIN_SKEW_CHANGE_MS)
        return { ...refused, skewMs, isCorrected: true };
      rereading ??= reread(refused.credentials);
      await rereading;
      const renewed = await credentials();
      return renewed === refused.credentials ? undefined : { ...refused, credentials: renewed };
    },
    quote: (text: string, at?: number) =>
      at === undefined ? quoted(redact, text) : quotedAround(redact, text, at),
  };
}
