import type { BrandLog } from '../log-events.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import type { ServiceClock } from './server-clock.ts';
import { quoted, redactor } from './redact.ts';

/** What one attempt was signed with. */
export interface Signing {
  credentials: Credentials;
  skewMs: number;
  /** The how-manieth it was. */
  sequence: number;
}

export interface SigningSession {
  /** @throws BrandReportsError of the credential source */
  sign(): Promise<Signing>;
  /** After a refusal: whether signing again differs from what was refused, so that it may succeed. */
  refreshAfterRejection(refused: Signing): Promise<boolean>;
  /** Text from outside, fit for messages. */
  quote: (text: string) => string;
}

const differsMs = 1_000;

/**
 * Credentials and clock of a brand for one run. Both are mended once in a run, however many requests were under way:
 * each of those signed before that may be signed again.
 */
export function createSigningSession(
  brand: string,
  source: CredentialSource,
  clock: ServiceClock,
  log: BrandLog,
): SigningSession {
  const secrets = new Set<string>();
  let redact = redactor([]);
  let current: Promise<Credentials> | undefined;
  let reread: Promise<void> | undefined;
  let signed = 0;
  let clockMendedAfter: number | undefined;

  async function read(): Promise<Credentials> {
    const credentials = await source.read(brand);
    secrets.add(credentials.token).add(credentials.secret);
    redact = redactor([...secrets]);
    return credentials;
  }

  function credentials(): Promise<Credentials> {
    current ??= read().catch((error) => {
      current = undefined;
      throw error;
    });
    return current;
  }

  async function readAgain(before: Credentials): Promise<void> {
    try {
      const after = await read();
      if (!same(before, after)) current = Promise.resolve(after);
    } catch {
      log({ event: 'credentials_not_reread' });
    }
  }

  function clockDiffers({ skewMs, sequence }: Signing): boolean {
    if (Math.abs(clock.skewMs - skewMs) <= differsMs) return false;
    clockMendedAfter ??= signed;
    return sequence <= clockMendedAfter;
  }

  return {
    async sign() {
      const used = await credentials();
      signed += 1;
      return { credentials: used, skewMs: clock.skewMs, sequence: signed };
    },
    async refreshAfterRejection(refused) {
      if (clockDiffers(refused)) return true;
      reread ??= readAgain(refused.credentials);
      await reread;
      return (await credentials()) !== refused.credentials;
    },
    quote: (text) => quoted(redact, text),
  };
}

function same(a: Credentials, b: Credentials): boolean {
  return a.bid === b.bid && a.token === b.token && a.secret === b.secret;
}
