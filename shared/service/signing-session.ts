/**
 * I10: signs the requests of one run and handles refusals. A non-zero `code` does not tell whether the clock, the
 * credentials or the fields are wrong, so each cause is tried once per run:
 * - If the clocks differ, the request is signed again with the service's time.
 * - Otherwise the credentials are read again, and the request is signed again only if they changed.
 *
 * Every request that was signed before the correction may use it. Without this limit, every request under way would
 * read the credentials again and be sent again.
 */
import { BrandReportsError } from '../errors.ts';
import type { BrandLog } from '../log-events.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import type { ServiceClock } from './server-clock.ts';
import { OTHER_BASE_URL, readCredentials } from './credentials.ts';
import { quoted, redactor } from './redact.ts';

/** The credentials and the clock of one signed attempt. */
export interface Signing {
  credentials: Credentials;
  /** Service time minus local time, ms. */
  skewMs: number;
  /** The number of this signing in the run, from 1. */
  sequence: number;
}

const MIN_SKEW_CHANGE_MS = 1_000;

/** Signs the requests of one run. @param clock the service's clock, as its responses show it */
export function createSigningSession(
  { brand, baseUrl, credentials: source }: { brand: string; baseUrl: string; credentials: CredentialSource },
  clock: ServiceClock,
  log: BrandLog,
) {
  const known: Credentials[] = [];
  let redact = redactor([]);
  let current: Promise<Credentials> | undefined;
  let rereading: Promise<void> | undefined;
  let signed = 0;
  /** All signings up to this number were made before the clock was corrected. */
  let clockCorrectedAfter: number | undefined;

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
      if (!same(before, after)) current = Promise.resolve(after);
    } catch (error) {
      if (error instanceof BrandReportsError && error.code === OTHER_BASE_URL) throw error;
      log({ event: 'credentials_not_reread' });
    }
  }

  /** @param skewMs by default the skew that responses have shown */
  async function sign(skewMs = clock.skewMs ?? 0): Promise<Signing> {
    const used = await credentials();
    signed += 1;
    return { credentials: used, skewMs, sequence: signed };
  }

  function clockDiffers({ skewMs, sequence }: Signing): boolean {
    if (Math.abs(clock.lastSkewMs - skewMs) <= MIN_SKEW_CHANGE_MS) return false;
    clockCorrectedAfter ??= signed;
    return sequence <= clockCorrectedAfter;
  }

  return {
    /** @throws BrandReportsError of the credential source */
    sign: () => sign(),
    /**
     * After a refusal: another signature with which a retry may succeed; `undefined` if there is none.
     * @throws BrandReportsError if the credentials, read again, are for another address
     */
    async signAgain(refused: Signing): Promise<Signing | undefined> {
      if (clockDiffers(refused)) return sign(clock.lastSkewMs);
      rereading ??= reread(refused.credentials);
      await rereading;
      return (await credentials()) === refused.credentials ? undefined : sign();
    },
    /** I9: text from outside, redacted and fit for messages. */
    quote: (text: string) => quoted(redact, text),
  };
}

function same(a: Credentials, b: Credentials): boolean {
  return a.bid === b.bid && a.token === b.token && a.secret === b.secret;
}
