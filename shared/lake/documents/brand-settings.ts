/**
 * The lake keeps the settings of each brand that decide what its records mean and when its days are due. So a laptop, a
 * BI tool and a function derive the same numbers from one lake. Neither document has an address or a credential.
 * - `schema/settings/<brand>/current.json` has the settings of the last run that adopted any, and changes by
 *   compare-and-swap. It contains the settings themselves: a reader needs one request for each brand.
 * - `schema/settings/<brand>/<hash>.json` keeps each version for good. Its name is the hash of its bytes.
 */
import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { fullJitterMs } from '../../backoff.ts';
import { mapConcurrent } from '../../concurrency.ts';
import { configError } from '../../errors.ts';
import { type Json, type JsonObject, isJsonObject, parseJson } from '../../json.ts';
import { type Log, bindReport } from '../../log-events.ts';
import type { Clock, ObjectStore } from '../../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../../reports/definition.ts';
import {
  type LakeBrandSettings,
  type LakeSettings,
  type ReportSettings,
  lakeBrandSchema,
} from '../../settings/settings.ts';
import { BRAND_SETTINGS_PREFIX, brandSettingsKey, parseBrandSettingsKey } from '../paths.ts';
import {
  CasDocument,
  DOCUMENT_RETRY,
  damagedDocument,
  parseDocument,
  parseJsonDocument,
  readOrDamage,
  storedObject,
  storedTime,
} from './cas-document.ts';

/** How many brands are read at the same time. */
const CONCURRENCY = 32;

/** Whose settings a lake has of a brand. Deployed functions are not overruled by a command line without its consent. */
const MAINTAINERS = ['command_line', 'functions'] as const;

/** Who runs, and whether a person has accepted that the settings of functions are replaced. */
export interface Adoption {
  by: (typeof MAINTAINERS)[number];
  isAsked?: boolean | undefined;
}

const COMMAND_LINE: Adoption = { by: 'command_line' };

const document = storedObject(() => ({
  version: z.literal(1),
  brand: z.string(),
  /** Missing before the first run, and after damage that nothing could restore. */
  current: z.optional(
    storedObject(() => ({
      hash: z.string(),
      since: storedTime,
      by: z.enum(MAINTAINERS),
      settings: z.custom<JsonObject>(isJsonObject),
    })),
  ),
  recentWrites: z.array(z.string()),
}));
type CurrentSettings = z.infer<typeof document>;

/** The fields and the words of a report: what its records mean. */
export interface BrandRoles {
  fields: ReportSettings['fields'];
  words: Readonly<Record<string, string>>;
}

/** The settings that a lake has of a brand, or why they cannot be used. */
export interface SettingsInLake {
  settings?: LakeBrandSettings;
  /** When a run changed them last. */
  since?: string;
  damage?: string;
}

/** Reads `current.json` of a brand. @throws BrandReportsError `config` `damaged_document` */
export function parseCurrentSettings(brand: string, reports: ReportRegistry) {
  const key = brandSettingsKey(brand);
  return (stored: Json | undefined): CurrentSettings => {
    if (stored === undefined) return { version: 1, brand, recentWrites: [] };
    const parsed = parseDocument(document, key, stored);
    if (parsed.brand !== brand) throw damagedDocument(key, `it has the settings of ${parsed.brand}`);
    if (parsed.current) parseSettingsVersion(key, parsed.current.hash, reports)(parsed.current.settings);
    return parsed;
  };
}

/** Reads settings that have this hash. @throws BrandReportsError `config` `damaged_document` */
export function parseSettingsVersion(key: string, sha256: string, reports: ReportRegistry) {
  return (stored: Json | undefined): object => {
    if (stored === undefined) throw damagedDocument(key, 'nothing else has its settings');
    if (hash('sha256', textOf(stored)) !== sha256) throw damagedDocument(key, 'it does not match its hash');
    parseDocument(lakeBrandSchema(reports), key, stored);
    return sorted(stored);
  };
}

/** What the lake has of the settings of a brand; `undefined` before its first run. */
export async function readBrandSettings(
  store: ObjectStore,
  reports: ReportRegistry,
  brand: string,
): Promise<SettingsInLake | undefined> {
  const key = brandSettingsKey(brand);
  const parse = parseCurrentSettings(brand, reports);
  const reading = store.get(key).then((stored) => stored && parse(parseJsonDocument(key, stored.body)));
  const read = await readOrDamage(reading);
  if ('damage' in read) return { damage: read.damage.message };
  return read.value && settingsIn(read.value, reports);
}

function settingsIn({ brand, current }: CurrentSettings, reports: ReportRegistry) {
  if (!current) return undefined;
  const settings = parseDocument(lakeBrandSchema(reports), brandSettingsKey(brand), current.settings);
  return { settings, since: current.since };
}

/** What a lake has of the settings of its brands, as one process has read or written it. Damaged settings count as missing. */
export class StoredSettings {
  readonly #options: StoredSettingsOptions;
  readonly #documents = new Map<string, CasDocument<CurrentSettings>>();
  #listed: Promise<string[]> | undefined;

  constructor(options: StoredSettingsOptions) {
    this.#options = options;
  }

  /** The settings of a brand; `undefined` before its first run. */
  async of(brand: string): Promise<LakeBrandSettings | undefined> {
    const current = await this.#document(brand).cached();
    return settingsIn(current, this.#options.reports)?.settings;
  }

  /** The settings of all brands of the lake. @param given settings that replace those of their brands */
  async all(given?: LakeSettings): Promise<LakeSettings> {
    this.#listed ??= brandsIn(this.#options.lake.store);
    const brands = [...new Set([...(await this.#listed), ...this.#documents.keys()])];
    const found = await mapConcurrent(brands, CONCURRENCY, async (brand) => {
      const settings = given?.brands[brand] ?? (await this.of(brand));
      return settings ? [[brand, settings] as const] : [];
    });
    return { brands: { ...Object.fromEntries(found.flat()), ...given?.brands } };
  }

  /**
   * Stores the settings of a run, and logs each change of their meaning. A run of a command line leaves the settings of
   * functions alone, unless a person has asked for it.
   * @returns the hash of the settings that count from now on
   */
  async adopt(brand: string, given: LakeBrandSettings, adoption = COMMAND_LINE): Promise<string> {
    const { lake, clock, reports, log } = this.#options;
    const settings = keptOf(given);
    const own = hash('sha256', textOf(settings));
    const isCurrent = ({ current }: CurrentSettings) =>
      current !== undefined &&
      (isLeft(current, adoption) || (current.hash === own && current.by === adoption.by));
    const before = await this.#document(brand).cached();
    if (isCurrent(before)) return before.current?.hash ?? own;
    await lake.store.put(brandSettingsKey(brand, own), Buffer.from(textOf(settings)), { ifAbsent: true });
    let replaced = before;
    const now = new Date(clock.wallMs()).toISOString();
    const after = await this.#document(brand).update((found) => {
      replaced = found;
      if (isCurrent(found)) return found;
      const since = found.current?.hash === own ? found.current.since : now;
      return { ...found, current: { hash: own, since, by: adoption.by, settings } };
    });
    const old = after === replaced ? undefined : settingsIn(replaced, reports);
    for (const { report, changes } of old ? changesOfMeaning(old.settings, given) : [])
      for (const change of changes)
        bindReport(log, brand, report)({ event: 'meaning_changed', message: change });
    return after.current?.hash ?? own;
  }

  /** @throws BrandReportsError `config` if functions maintain settings of another meaning and nobody has asked to replace them */
  async assertMayReplace(brands: LakeSettings['brands'], adoption = COMMAND_LINE): Promise<void> {
    const found = await mapConcurrent(Object.entries(brands), CONCURRENCY, async ([brand, given]) => {
      const current = adoption.by === 'functions' ? undefined : await this.#document(brand).cached();
      const old =
        current?.current && isLeft(current.current, adoption) && settingsIn(current, this.#options.reports);
      return old ? linesOf(brand, changesOfMeaning(old.settings, given)) : [];
    });
    const lines = found.flat();
    if (lines.length > 0)
      throw configError(
        'settings_maintained',
        `Deployed functions maintain the settings of ${this.#options.lake.store.url}, and yours give its records another meaning:\n${lines.map((line) => `- ${line}`).join('\n')}\nUse the deployed settings, or deploy yours. To replace them for all readers until a function runs, add --adopt-settings.`,
      );
  }

  #document(brand: string): CasDocument<CurrentSettings> {
    const { lake, reports, newId, clock, random } = this.#options;
    const known = this.#documents.get(brand);
    if (known) return known;
    const pause = (tries: number) => clock.sleep(fullJitterMs(tries, DOCUMENT_RETRY, random()));
    const made = new CasDocument({
      ...{ store: lake.store, key: brandSettingsKey(brand), parse: parseCurrentSettings(brand, reports) },
      // The next run that adopts its settings writes them again.
      ...{ newId, pause, recovers: true },
    });
    this.#documents.set(brand, made);
    return made;
  }
}

interface StoredSettingsOptions {
  lake: { store: ObjectStore };
  reports: ReportRegistry;
  newId: () => string;
  clock: Pick<Clock, 'sleep' | 'wallMs'>;
  random: () => number;
  log: Log;
}

/** Whether a run leaves these settings as they are. */
function isLeft(
  current: Pick<NonNullable<CurrentSettings['current']>, 'by'>,
  { by, isAsked }: Adoption,
): boolean {
  return current.by === 'functions' && by === 'command_line' && !isAsked;
}

async function brandsIn(store: ObjectStore): Promise<string[]> {
  const keys = await Array.fromAsync(store.list(BRAND_SETTINGS_PREFIX), ({ key }) =>
    parseBrandSettingsKey(key),
  );
  return keys.flatMap((of) => (of && of.hash === undefined ? [of.brand] : []));
}

/** What a lake keeps of the settings of a brand. */
function keptOf(brand: LakeBrandSettings): JsonObject {
  const { timeZone, startDate, timestampUnit, firstPage, endTime, endDate } = brand;
  const { lateMinutes, snapshotRetentionDays } = brand;
  const reports = Object.entries(brand.reports).map(([name, { pageSize: _ofRequests, ...own }]) => [
    name,
    own,
  ]);
  return sorted({
    ...{
      timeZone,
      startDate,
      timestampUnit,
      firstPage,
      endTime,
      endDate,
      lateMinutes,
      snapshotRetentionDays,
    },
    reports: Object.fromEntries(reports),
  });
}

/** The same JSON with the keys of each object in one order: equal settings have equal bytes. */
function sorted(settings: object | Json): JsonObject {
  const json = parseJson(textOf(settings));
  return isJsonObject(json) ? json : {};
}

function textOf(settings: object | Json): string {
  const inOrder = (_key: string, value: unknown) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return `${JSON.stringify(settings, inOrder)}\n`;
}

/** The roles of a report's records, by the settings of a brand. */
export function rolesOf(
  settings: LakeBrandSettings | undefined,
  { name }: Pick<ReportDefinition, 'name'>,
): BrandRoles {
  const { fields = {}, states } = settings?.reports[name] ?? {};
  return { fields, words: states?.words ?? {} };
}

/** The roles of a report's records, by brand. */
export function rolesByBrand(
  { brands }: LakeSettings,
  report: Pick<ReportDefinition, 'name'>,
): Record<string, BrandRoles> {
  return Object.fromEntries(Object.entries(brands).map(([brand, own]) => [brand, rolesOf(own, report)]));
}

interface Changes {
  report: string;
  /** `commission comm → commissionValue` */
  changes: string[];
}

/** The roles and the words that other settings change, by report. */
function changesOfMeaning(before: LakeBrandSettings, after: LakeBrandSettings): Changes[] {
  return Object.keys(after.reports).flatMap((report) => {
    const [old, now] = [before, after].map((settings) => meaningOf(rolesOf(settings, { name: report })));
    const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])];
    const changes = names
      .map((name) => ({ name, from: old?.get(name) ?? 'not set', to: now?.get(name) ?? 'not set' }))
      .flatMap(({ name, from, to }) => (from === to ? [] : [`${name} ${from} → ${to}`]));
    return changes.length > 0 ? [{ report, changes }] : [];
  });
}

function meaningOf({ fields, words }: BrandRoles): Map<string, string> {
  const ofFields = Object.entries(fields).map(
    ([role, field]) => [role, field === null ? 'no field' : [field].flat().join(' or ')] as const,
  );
  const ofWords = Object.entries(words).map(
    ([word, state]) => [`word ${JSON.stringify(word)}`, state] as const,
  );
  return new Map([...ofFields, ...ofWords]);
}

function linesOf(brand: string, found: readonly Changes[]): string[] {
  return found.flatMap(({ report, changes }) => changes.map((change) => `${brand} ${report}: ${change}`));
}

/** A line about a brand for the people who read an outlet. */
export interface SettingsNote {
  brand: string;
  text: string;
}

/**
 * The settings by which an outlet derives its numbers: the given ones, and those of the lake for other brands; `undefined`
 * if there are none. A note names each report to which the given settings give another meaning than the lake's.
 * @param origin the name of the given settings
 */
export function settingsInUse(
  lake: readonly { brand: string; inLake?: SettingsInLake | undefined }[],
  given: LakeSettings | undefined,
  origin = 'these settings',
): { settings: LakeSettings | undefined; notes: SettingsNote[] } {
  const ofLake = new Map(lake.flatMap(({ brand, inLake }) => (inLake ? [[brand, inLake] as const] : [])));
  const usable = [...ofLake].flatMap(([brand, { settings }]) =>
    settings ? [[brand, settings] as const] : [],
  );
  const brands = { ...Object.fromEntries(usable), ...given?.brands };
  const notes = [...ofLake].flatMap(([brand, { settings, since, damage }]) => {
    if (!settings) return [{ brand, text: damage ?? '' }];
    return changesOfMeaning(settings, brands[brand] ?? settings).map(({ report, changes }) => ({
      brand,
      text: `fields of ${brand} ${report} are those of ${origin}; the lake has other ones since ${since}: ${changes.join(', ')}`,
    }));
  });
  return { settings: Object.keys(brands).length > 0 ? { brands } : undefined, notes };
}
