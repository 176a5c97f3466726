import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { CREDENTIALS_SHAPE, fixedCredentials, readCredentialsFile } from '../shared/adapters/credentials.ts';
import { OWN_CREDENTIALS } from '../shared/adapters/default-settings.ts';
import { textOf } from '../shared/adapters/error-fields.ts';
import { newId, systemClock } from '../shared/adapters/system-clock.ts';
import { openLake } from '../shared/adapters/open-lake.ts';
import { mayChange } from '../shared/adapters/others-may.ts';
import { sendRequest } from '../shared/adapters/send-request.ts';
import { configError } from '../shared/base/errors.ts';
import { holderText } from '../shared/lake/brand-lease.ts';
import { StoredSettings } from '../shared/lake/brand-settings.ts';
import { createLakeDocuments } from '../shared/lake/lake-documents.ts';
import type { Log } from '../shared/base/log-events.ts';
import type { LakeAccess } from '../shared/context/context.ts';
import type { CredentialSource, Lake } from '../shared/ports.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { reports } from '../shared/reports/index.ts';
import { type RunOptions, brandSettingsOf, selectBrands } from '../shared/run/run.ts';
import { note } from './output.ts';
import type { SharedFlags } from './options.ts';
import { isGiven, printedCommand } from './printed-command.ts';
import { readCredentials } from '../shared/service/credentials.ts';
import { type Settings, loadSettings } from '../shared/settings/settings.ts';

export interface RunFlags extends SharedFlags {
  from?: string;
  to?: string;
  acceptFewer?: boolean;
  adoptSettings?: boolean;
}

/** @throws BrandReportsError `config` for errors in flags, settings and local credentials, before the run starts */
export async function createRunOptions(
  flags: RunFlags,
  wanted: readonly string[],
  log: Log,
): Promise<RunOptions> {
  const options = await createPlanOptions(flags, wanted, log);
  const brands = selectBrands(options).map((name) => [name, brandSettingsOf(options, name)] as const);
  const { isLocal, credentials } = await credentialSource(flags, {
    ...options.settings,
    brands: Object.fromEntries(brands),
  });
  if (isLocal)
    await Promise.all(brands.map(([name, { baseUrl }]) => readCredentials(credentials, name, baseUrl)));
  const runBy = `${hostname()}/${process.pid}`;
  return { ...options, credentials, send: sendRequest, runBy };
}

export async function createPlanOptions(
  flags: RunFlags,
  wanted: readonly string[],
  log: Log,
  open: typeof openLake = openLake,
): Promise<Omit<RunOptions, 'credentials' | 'send'>> {
  const settings = await readSettings(flags);
  const names = [...new Set(wanted.map((name) => reportNamed(name).name))];
  const brands = flags.brand === undefined ? undefined : [brandNamed(flags.brand, settings)];
  const { from, to, acceptFewer } = flags;
  checkOrder(from, to);
  if (acceptFewer && from === undefined && to === undefined)
    throw configError('no_days_named', '--accept-fewer needs the days: add --from and --to.');
  return {
    ...(await lakeAccess(flags, log, open)),
    settings,
    reports,
    adoption: { by: 'command_line', isAsked: flags.adoptSettings },
    scope: { brands, reports: names.length > 0 ? names : undefined, from, to, acceptFewer },
  };
}

/** Opens the lake of a command that fills no new one. @throws BrandReportsError `config` if its folder does not exist */
export async function openExistingLake(url: string, options?: { database?: string }): Promise<Lake> {
  const lake = await openLake(url, options);
  const { localFolder } = lake.store;
  if (localFolder === undefined || existsSync(localFolder)) return lake;
  const next = `Name a lake with --lake, or fill a new one: ${printedCommand('sync')}`;
  throw configError('no_lake', `There is no lake: the folder ${localFolder} does not exist. ${next}`);
}

export async function lakeAccess(
  { lake, database, now }: Pick<SharedFlags, 'lake' | 'database' | 'now'>,
  log: Log = () => {},
  open = openExistingLake,
): Promise<LakeAccess> {
  const opened = await open(lake, { database });
  const { localFolder } = opened.store;
  const { who, why, nextStep } = (localFolder === undefined ? undefined : mayChange(localFolder)) ?? {};
  // A write refuses a lake that every user may change (`makeLakeFolder`).
  if (who !== undefined && who !== 'others')
    note(`warning: ${who} may change ${localFolder}, because ${why}. Unless you share it, ${nextStep}`);
  return { lake: opened, clock: systemClock(now), log, random: Math.random, newId };
}

/** The lake of a command that needs no settings, for SQL. @throws like `readSettingsIfAny` and `openExistingLake` */
export async function sqlLake(flags: Pick<SharedFlags, 'lake' | 'settings'>) {
  const settings = await readSettingsIfAny(flags);
  const { store } = await openExistingLake(flags.lake);
  return { store, reports, settings, settingsFile: flags.settings, nowMs: Date.now() };
}

/** The access of a command that needs no settings and writes to the lake. @throws like `sqlLake` */
export async function writableLake(flags: SharedFlags) {
  const given = await readSettingsIfAny(flags);
  const access = { ...(await lakeAccess(flags)), reports };
  const settings = await new StoredSettings(access).all(given);
  return { ...access, settings, settingsFile: flags.settings };
}

/** `undefined` if no flag names a file and the default file does not exist. @throws BrandReportsError `config` like `readSettings` */
export async function readSettingsIfAny(flags: Pick<SharedFlags, 'settings'>): Promise<Settings | undefined> {
  return isGiven('settings') || existsSync(flags.settings) ? readSettings(flags) : undefined;
}

/** @throws BrandReportsError `config` if the file cannot be read or its settings are invalid */
export async function readSettings({ settings: file }: Pick<SharedFlags, 'settings'>): Promise<Settings> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const next = `Name another one with --settings FILE, or write one: ${printedCommand('init')}`;
    const message = `The settings file ${file} cannot be read (${textOf(error, 'code')}). ${next}`;
    throw configError('settings_unreadable', message);
  });
  return loadSettings(text, file, reports);
}

/** Finds a report by its name or its table's name. @throws BrandReportsError `config` that lists both names of each report */
export function reportNamed(name: string): ReportDefinition {
  const all = Object.values(reports);
  const found = all.find((report) => report.name === name || report.table === name);
  if (found) return found;
  const allowed = all.map((report) => `${report.name} (table ${report.table})`);
  throw unknown('report', name, allowed);
}

/** @returns the name, if it is a brand of the settings. @throws BrandReportsError `config` that lists the brands */
export function brandNamed(name: string, { brands }: Settings): string {
  if (Object.hasOwn(brands, name)) return name;
  throw unknown('brand', name, Object.keys(brands));
}

/** The error for a name that is not among the allowed ones. */
export function unknown(what: 'brand' | 'report' | 'table', name: string, allowed: readonly string[]) {
  return configError(`unknown_${what}`, `Unknown ${what} "${name}". Allowed: ${allowed.join(', ')}.`);
}

export function checkOrder(from: string | undefined, to: string | undefined): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw configError('days_reversed', `--from ${from} is after --to ${to}. Swap them.`);
}

/** The runs that read days of the brands, for messages of commands that they keep waiting. */
export async function runningNow(access: LakeAccess, brands: readonly string[]): Promise<string> {
  const documents = createLakeDocuments({ store: access.lake.store, ...access });
  const leases = brands.map(
    async (brand) => `${brand} (${holderText(await documents.lease(brand).refresh())})`,
  );
  return `another run is reading days of ${(await Promise.all(leases)).join(', ')}`;
}

/** @returns the credentials. If they are local, reading them sends no request, so errors are found before the run */
export async function credentialSource(
  { credentials: given, lake }: Pick<SharedFlags, 'credentials' | 'lake'>,
  settings: Pick<Settings, 'brands' | 'deployment'>,
): Promise<{ isLocal: boolean; credentials: CredentialSource }> {
  const local = (credentials: CredentialSource) => ({ isLocal: true, credentials });
  const { BRAND_REPORTS_CREDENTIALS: inline } = process.env;
  if (given === undefined && inline) return local(fixedCredentials(inline, 'BRAND_REPORTS_CREDENTIALS'));
  const file = given ?? (existsSync(OWN_CREDENTIALS) ? OWN_CREDENTIALS : undefined);
  if (file !== undefined && file !== 'aws')
    return local(readCredentialsFile(file, (message) => note(`warning: ${message}`)));
  if (given === 'aws' || lake.startsWith('s3://')) {
    const { secretsOf } = await import('../shared/adapters/aws/secrets-manager-credentials.ts');
    return { isLocal: false, credentials: secretsOf(settings, false) };
  }
  throw configError(
    'no_credentials',
    `No credentials were given. Give them in one of these ways:
- ${OWN_CREDENTIALS} in this folder, or another file with --credentials FILE: {"<brand>":${CREDENTIALS_SHAPE}}
- the same JSON in the environment variable BRAND_REPORTS_CREDENTIALS
- --credentials aws for the secret in AWS Secrets Manager: "secretName" of the settings, or brand-reports/<brand>`,
  );
}
