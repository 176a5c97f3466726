import { configError } from '../base/errors.ts';
import type { CredentialSource, Credentials } from '../ports.ts';
import { shownAddress } from '../settings/base-url.ts';
import { quoted, redactor } from './redact.ts';

/**
 * I9: reads the credentials of a brand for the address in its settings. If the credentials name another address, no
 * request may be sent: otherwise anyone who can change the settings could receive the token.
 * @throws BrandReportsError `config` for another address, and the errors of the source
 */
export async function readCredentials(
  source: CredentialSource,
  brand: string,
  baseUrl: string,
): Promise<Credentials> {
  const credentials = await source.read(brand);
  const { baseUrl: allowed = baseUrl } = credentials;
  if (new URL(allowed).href === new URL(baseUrl).href) return credentials;
  const shown = (url: string) => quoted(redactor([credentials]), shownAddress(url));
  throw configError(
    OTHER_BASE_URL,
    `The settings send the requests of brand ${brand} to ${shown(baseUrl)}, but its credentials are for ${shown(allowed)} only, so no request was sent. Find out who changed "baseUrl". If the settings are wrong, correct "baseUrl" there. If the service has moved, change "baseUrl" beside the credentials.`,
  );
}

export const OTHER_BASE_URL = 'other_base_url';
