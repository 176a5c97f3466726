import type { Stats } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { BrandReportsError } from '../base/errors.ts';
import { isCanonicalInteger, isJsonObject, type Json, numberText, parseJson } from '../base/json.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import { BASE_URL, isBaseUrl } from '../settings/base-url.ts';
import { shownKey } from '../settings/input.ts';
import { parseJsonc } from '../settings/jsonc.ts';
import { shellWord } from '../base/shell-word.ts';
import { errorCode } from './local/disk-errors.ts';
import { mayReplace, modeOf, othersMay } from './others-may.ts';

/**
 * The names of the brands' secrets in Secrets Manager begin with it, and the functions may read only these secrets. It is
 * one prefix for all brands, so that a new brand changes no policy. Accounts keep environments apart, not names.
 */
export const SECRETS_PREFIX = 'brand-reports/';

/** The form of one brand's credentials. @param baseUrl the address to which they may be sent */
export function credentialsShape(baseUrl: string): string {
  return `{"bid":"…","token":"…","secret":"…","baseUrl":"${baseUrl}"}`;
}

export const CREDENTIALS_SHAPE = credentialsShape('https://…');

/** Reads credentials from JSON by brand: `{"acme":{"bid":…,"token":…,"secret":…}}`. @param origin the source, for messages */
export function fixedCredentials(text: string, origin: string): CredentialSource {
  return { read: async (brand) => brandIn(text, brand, origin) };
}

/** The variables without those of this program but `BRAND_REPORTS_LAKE_OWNER`, in any case: they may be credentials. */
export function withoutCredentials(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^BRAND_REPORTS_(?!LAKE_OWNER$)/i.test(name)),
  );
}

/**
 * Reads credentials from a file of that form. The file is read for each use, because it may change while a run works. A
 * pipe, such as a shell's `<(command)`, is read once.
 * @param warn called once if other users may read the file, or a group may replace it. A file that other users may change
 * or replace is refused.
 */
export function readCredentialsFile(path: string, warn: (message: string) => void): CredentialSource {
  const origin = `the file ${path}`;
  let piped: Promise<string> | undefined;
  let isWarned = false;

  async function read(brand: string): Promise<string> {
    if (!(await stat(path)).isFile()) {
      piped ??= readFile(path, 'utf8');
      return piped;
    }
    const file = await open(path);
    try {
      const refusal = (why: string, nextStep: string) => noCredentials(brand, origin, why, nextStep);
      const warning = warningOf(path, await file.stat(), refusal);
      if (warning !== undefined && !isWarned) warn(warning);
      isWarned ||= warning !== undefined;
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  return {
    async read(brand) {
      const text = await read(brand).catch((error: unknown) => {
        if (error instanceof BrandReportsError) throw error;
        throw noCredentials(brand, origin, `it cannot be read (${errorCode(error)})`, 'Check --credentials.');
      });
      return brandIn(text, brand, origin);
    },
  };
}

/** @throws the refusal if other users may change or replace the file */
function warningOf(
  path: string,
  { uid, mode }: Stats,
  refusal: (why: string, nextStep: string) => BrandReportsError,
): string | undefined {
  const me = process.getuid?.();
  // Root may receive files of other users, e.g. files of the host in a container.
  const access = othersMay({ uid: me === 0 ? me : uid, mode });
  if (access === 'write')
    throw refusal(
      `other users may change it (owner ${uid}, mode ${modeOf(mode)})`,
      `Check its contents, then ${uid === me || me === 0 ? `run: chmod 600 ${shellWord(path)}` : 'use a copy that belongs to you, with the mode 600.'}`,
    );
  const intruders = mayReplace(path);
  if (intruders && intruders.who !== 'a group')
    throw refusal(
      `other users may replace it, because ${intruders.why}`,
      `Check its contents, then ${intruders.nextStep}`,
    );
  if (access === 'read') return `other users may read ${path}. Keep them out: chmod go= ${shellWord(path)}`;
  return (
    intruders &&
    `a group may replace ${path}, because ${intruders.why}. To keep it out, ${intruders.nextStep}`
  );
}

function brandIn(text: string, brand: string, origin: string): Credentials {
  const shape = `{"${brand}":${CREDENTIALS_SHAPE}}`;
  const brands = parsed(text, brand, origin, shape);
  const found = isJsonObject(brands) && Object.hasOwn(brands, brand) ? brands[brand] : undefined;
  if (found === undefined) throw noCredentials(brand, origin, 'the brand is not in it', `Allowed: ${shape}`);
  return credentialsIn(found, brand, origin, shape);
}

export function parseCredentials(text: string, brand: string, origin: string): Credentials {
  return credentialsIn(parsed(text, brand, origin, CREDENTIALS_SHAPE), brand, origin, CREDENTIALS_SHAPE);
}

/** A file that is ambiguous for one brand is refused for all. */
function parsed(text: string, brand: string, origin: string, shape: string): Json {
  const found = parseJsonc(text, parseJson, shownKey);
  if ('value' in found) return found.value;
  throw noCredentials(brand, origin, `it ${found.problem}`, `Allowed: ${shape}`);
}

function credentialsIn(value: Json, brand: string, origin: string, shape: string): Credentials {
  const field = (name: keyof Credentials, number?: string) => {
    const found = number ?? (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);
    if (typeof found === 'string' && /^[!-~]+$/.test(found)) return found;
    throw noCredentials(brand, origin, wrong(name, found), `Allowed: ${shape}`);
  };
  const { bid: written, baseUrl } = isJsonObject(value) ? value : {};
  const bid = numberText(written);
  if (baseUrl !== undefined && !(typeof baseUrl === 'string' && isBaseUrl(baseUrl)))
    throw noCredentials(brand, origin, `"baseUrl" is not ${BASE_URL}`, `Allowed: ${shape}`);
  return {
    bid: field('bid', bid !== undefined && isCanonicalInteger(bid) ? bid : undefined),
    token: field('token'),
    secret: field('secret'),
    ...(baseUrl !== undefined && { baseUrl }),
  };
}

function wrong(name: string, found: Json | undefined): string {
  if (found === undefined || found === null) return `"${name}" is missing`;
  if (found === '') return `"${name}" is empty`;
  if (typeof found === 'string') return `"${name}" holds spaces, line breaks or characters beyond ASCII`;
  return `"${name}" is not ${name === 'bid' ? 'text or a whole number' : 'text'}`;
}

export function noCredentials(
  brand: string,
  origin: string,
  why: string,
  nextStep: string,
): BrandReportsError {
  return new BrandReportsError(
    'config',
    'bad_credentials',
    `No credentials of brand ${brand} in ${origin}: ${why}. ${nextStep}`,
    { context: { brand } },
  );
}
