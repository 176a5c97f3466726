import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { fixedCredentials, readCredentialsFile } from '../shared/adapters/credentials.ts';
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
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { reports } from '../shared/reports/index.ts';
import type { RunOptions } from '../shared/run/run.ts';
import { note } from './output.ts';
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
  const names = [...new Set(wanted.map((name) => reportNamed(name).name))];
  const brands = flags.brand === undefined ? undefined : [brandNamed(flags.brand, settings)];
  checkRange(flags, settings);
  const credentials = await credentialSource(flags, settings);
  const areLocal = flags.credentials !== undefined || !isInS3(flags.lake);
  const chosen = brands ?? Object.keys(settings.brands);
  if (areLocal)
    await Promise.all(
      chosen.map((brand) => readCredentials(credentials, brand, settings.brands[brand]?.baseUrl ?? '')),
    );
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
      `The settings file ${file} cannot be read (${textOf(error, 'code')}). Name another one with --settings FILE.`,
    );
  });
  return loadSettings(text, file, reports, environment);
}

/** The report of this name, or of the table of this name. @throws BrandReportsError `config` that lists both names of each */
export function reportNamed(name: string): ReportDefinition {
  const all = Object.values(reports);
  const found = all.find((report) => report.name === name || report.table === name);
  if (found) return found;
  const allowed = all.map((report) => `${report.name} (table ${report.table})`);
  const names = all.flatMap((report) => [report.name, report.table]);
  throw unknown('report', name, allowed, closestMatch(name, names));
}

/** @returns the name, if it is a brand of the settings. @throws BrandReportsError `config` that lists the brands */
export function brandNamed(name: string, { brands }: Settings): string {
  if (Object.hasOwn(brands, name)) return name;
  throw unknown('brand', name, Object.keys(brands));
}

/** The error for a name that is not among the allowed ones. @param meant a suggestion, by default the closest match */
function unknown(
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

async function credentialSource(
  { credentials: file, lake }: RunFlags,
  { brands }: Settings,
): Promise<CredentialSource> {
  const inline = process.env.BRAND_REPORTS_CREDENTIALS;
  if (file !== undefined) return readCredentialsFile(file, (message) => note(`warning: ${message}`));
  if (inline) return fixedCredentials(inline, 'BRAND_REPORTS_CREDENTIALS');
  if (isInS3(lake)) {
    const { secretsOf } = await import('../shared/adapters/aws/secrets-manager-credentials.ts');
    return secretsOf(brands, { needsBaseUrl: false });
  }
  throw new BrandReportsError(
    'config',
    'no_credentials',
    'No credentials were given. Use --credentials FILE with {"<brand>": {"bid": …, "token": …, "secret": …}}, or set BRAND_REPORTS_CREDENTIALS to the same JSON.',
  );
}

function isInS3(lake: string): boolean {
  return lake.startsWith('s3://');
}
