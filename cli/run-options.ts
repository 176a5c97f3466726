import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import {
  CREDENTIALS_SHAPE,
  credentialVariable,
  environmentCredentials,
  hasCredentialVariables,
  readCredentialsFile,
} from '../shared/adapters/credentials.ts';
import { textOf } from '../shared/adapters/error-fields.ts';
import { newId } from '../shared/adapters/new-id.ts';
import { openLake } from '../shared/adapters/open-lake.ts';
import { sendRequest } from '../shared/adapters/send-request.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { dayOf } from '../shared/days.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { closestMatch } from '../shared/validation/closest-match.ts';
import type { Log } from '../shared/log-events.ts';
import type { LakeAccess } from '../shared/context/context.ts';
import type { CredentialSource } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { RunOptions } from '../shared/run/run.ts';
import { note } from './output.ts';
import { printedCommand } from './printed-command.ts';
import { readCredentials } from '../shared/service/credentials.ts';
import { type Settings, loadSettings } from '../shared/settings/settings.ts';

/** The flags of the commands that send requests to the service: sync and check. */
export interface RunFlags {
  settings: string;
  environment?: string;
  credentials?: string;
  lake: string;
  database?: string;
  brand?: string;
  now?: Date;
  from?: string;
  to?: string;
  acceptFewer?: boolean;
}

/**
 * Everything that a run needs, made from the flags. Errors in flags, settings and local credentials are reported here,
 * before the run starts.
 * @throws BrandReportsError `config`
 */
export async function createRunOptions(
  flags: RunFlags,
  wanted: readonly string[],
  log: Log,
): Promise<RunOptions> {
  const settings = await readSettings(flags);
  const names = wanted.map(reportNamed);
  const brands = flags.brand === undefined ? undefined : [brandNamed(flags.brand, settings)];
  checkRange(flags, settings);
  const chosen = Object.entries(settings.brands).filter(([brand]) => brands?.includes(brand) ?? true);
  const { isLocal, credentials } = await credentialSource(flags, Object.fromEntries(chosen));
  if (isLocal)
    await Promise.all(chosen.map(([brand, { baseUrl }]) => readCredentials(credentials, brand, baseUrl)));
  const { from, to, acceptFewer } = flags;
  if (acceptFewer && from === undefined && to === undefined)
    throw new BrandReportsError(
      'config',
      'no_days_named',
      '--accept-fewer replaces rows that can change no more, so it needs the days: add --from and --to.',
    );
  return {
    ...(await lakeAccess(flags, log)),
    settings,
    reports,
    credentials,
    send: sendRequest,
    scope: {
      ...(brands && { brands }),
      ...(names.length > 0 && { reports: names }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(acceptFewer && { acceptFewer }),
    },
  };
}

/** The lake of the flags, and what every command that writes to it works with. */
export async function lakeAccess(
  { lake, database, now }: Pick<RunFlags, 'lake' | 'database' | 'now'>,
  log: Log,
): Promise<LakeAccess> {
  return {
    lake: await openLake(lake, database === undefined ? {} : { database }),
    clock: systemClock(now),
    log,
    random: Math.random,
    newId,
  };
}

/**
 * The settings for a command that can do without: `undefined` where none were named and the default file is not there.
 * @throws BrandReportsError `config` where the file cannot be read or its settings are invalid
 */
export async function readSettingsIfAny(
  command: Command,
  flags: Pick<RunFlags, 'settings' | 'environment'>,
): Promise<Settings | undefined> {
  const isDefault = command.getOptionValueSource('settings') === 'default';
  const isNamed = !isDefault || flags.environment !== undefined;
  return isNamed || existsSync(flags.settings) ? readSettings(flags) : undefined;
}

/** @throws BrandReportsError `config` where the file cannot be read or its settings are invalid */
export async function readSettings({
  settings: file,
  environment,
}: Pick<RunFlags, 'settings' | 'environment'>): Promise<Settings> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new BrandReportsError(
      'config',
      'settings_unreadable',
      `The settings file ${file} cannot be read (${textOf(error, 'code')}). Name another one with --settings FILE, or write one: ${printedCommand('init')}`,
    );
  });
  return loadSettings(text, file, reports, environment);
}

/** @returns the name, if it is a report's. @throws BrandReportsError `config` that lists the reports */
export function reportNamed(name: string): string {
  if (Object.hasOwn(reports, name)) return name;
  const ofTable = Object.values(reports).find(({ table }) => table === name)?.name;
  throw unknown('report', name, Object.keys(reports), ofTable);
}

/** @returns the name, if it is a brand of the settings. @throws BrandReportsError `config` that lists the brands */
export function brandNamed(name: string, { brands }: Settings): string {
  if (Object.hasOwn(brands, name)) return name;
  throw unknown('brand', name, Object.keys(brands));
}

/** The error for a name that is not among the allowed ones. @param meant a suggestion, by default the closest match */
export function unknown(
  what: string,
  name: string,
  allowed: readonly string[],
  meant = closestMatch(name, allowed),
) {
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new BrandReportsError(
    'config',
    `unknown_${what}`,
    `Unknown ${what} "${name}". Allowed: ${allowed.join(', ')}.${hint}`,
  );
}

/** @throws BrandReportsError `config` where the days are in the wrong order or in the future */
export function checkRange(
  { from, to, brand, now = new Date() }: Pick<RunFlags, 'from' | 'to' | 'brand' | 'now'>,
  { brands }: Settings,
): void {
  checkOrder(from, to);
  const zones = Object.entries(brands).filter(([name]) => brand === undefined || name === brand);
  const today =
    zones
      .map(([, { timeZone }]) => dayOf(now.getTime(), timeZone))
      .sort()
      .at(-1) ?? '';
  for (const [flag, day] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    if (day !== undefined && day > today)
      throw new BrandReportsError(
        'config',
        'day_to_come',
        `${flag} ${day} is in the future. Allowed: up to ${today}.`,
      );
  }
}

export function checkOrder(from: string | undefined, to: string | undefined): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new BrandReportsError('config', 'days_reversed', `--from ${from} is after --to ${to}. Swap them.`);
}

/** @returns whether reading them costs no request, so that errors are found before the run; and the credentials */
export async function credentialSource(
  { credentials: given, lake }: Pick<RunFlags, 'credentials' | 'lake'>,
  brands: Settings['brands'],
): Promise<{ isLocal: boolean; credentials: CredentialSource }> {
  const { env } = process;
  const isInEnvironment =
    Boolean(env.BRAND_REPORTS_CREDENTIALS) ||
    Object.keys(brands).some((brand) => hasCredentialVariables(env, brand));
  if (given === 'aws' || (given === undefined && !isInEnvironment && isInS3(lake))) {
    const { secretsOf } = await import('../shared/adapters/aws/secrets-manager-credentials.ts');
    return { isLocal: false, credentials: secretsOf(brands, { needsBaseUrl: false }) };
  }
  if (given !== undefined)
    return {
      isLocal: true,
      credentials: readCredentialsFile(given, (message) => note(`warning: ${message}`)),
    };
  if (isInEnvironment) return { isLocal: true, credentials: environmentCredentials(env) };
  throw noCredentialsGiven(Object.keys(brands));
}

function noCredentialsGiven([brand = 'acme']: readonly string[]): BrandReportsError {
  const variables = (['bid', 'token', 'secret'] as const).map((field) => credentialVariable(brand, field));
  return new BrandReportsError(
    'config',
    'no_credentials',
    `No credentials were given. Give them in one of these ways:
- --credentials FILE with {"${brand}":${CREDENTIALS_SHAPE}}
- the same JSON in the environment variable BRAND_REPORTS_CREDENTIALS
- the environment variables ${variables.join(', ')}
- --credentials aws for the secret that brands.${brand}.secretName of the settings names in AWS Secrets Manager`,
  );
}

function isInS3(lake: string): boolean {
  return lake.startsWith('s3://');
}
