/**
 * The lake keeps the settings of each brand that decide what its records mean and when its days are due. So a laptop, a
 * BI tool and a function derive the same numbers from one lake. Neither document has an address or a credential.
 * - `schema/settings/<brand>/current.json` has the settings of the last run that adopted any, and changes by
 *   compare-and-swap. It contains the settings themselves: a reader sends one request for each brand.
 * - `schema/settings/<brand>/<hash>.json` keeps each version. Its name is the hash of its bytes.
 */
import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { fullJitterMs } from '../base/backoff.ts';
import { mapConcurrent } from '../base/concurrency.ts';
import { asBrandReportsError, configError } from '../base/errors.ts';
import { type Json, isJsonObject } from '../base/json.ts';
import type { Log } from '../base/log-events.ts';
import type { Clock, ObjectStore } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import {
  type LakeBrandSettings,
  type LakeSettings,
  type ReportSettings,
  lakeBrandSchema,
} from '../settings/settings.ts';
import { SETTINGS_OF_BRANDS, brandSettingsKey, parseBrandSettingsKey } from './paths.ts';
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

const CONCURRENCY = 32;

/** Whose run stored the settings: a command line does not overrule deployed functions without being told to. */
const MAINTAINERS = ['command_line', 'functions'] as const;

/** Who runs, and whether a person wants the settings of the run to replace those of functions. */
export interface Adoption {
  by: (typeof MAINTAINERS)[number];
  isAsked?: boolean | undefined;
}
const COMMAND_LINE: Adoption = { by: 'command_line' };

const document = storedObject(() => ({
  brand: z.string(),
  /** Missing before the first run, and after damage that nothing could restore. */
  current: z.optional(
    storedObject(() => ({
      hash: z.string(),
      since: storedTime,
      by: z.enum(MAINTAINERS),
      settings: z.custom<object>(isJsonObject),
    })),
  ),
  recentWrites: z.array(z.string()),
}));
type Stored = z.infer<typeof document>;

export interface SettingsInLake {
  settings?: LakeBrandSettings;
  hash?: string;
  since?: string;
  damage?: string;
}

export function parseCurrentSettings(brand: string, reports: ReportRegistry) {
  const key = brandSettingsKey(brand);
  return (stored: Json | undefined): Stored => {
    if (stored === undefined) return { brand, recentWrites: [] };
    const parsed = parseDocument(document, key, stored);
    if (parsed.brand !== brand) throw damagedDocument(key, `it has the settings of ${parsed.brand}`);
    if (parsed.current) parseSettingsVersion(key, parsed.current.hash, reports)(parsed.current.settings);
    return parsed;
  };
}

export function parseSettingsVersion(key: string, sha256: string, reports: ReportRegistry) {
  return (stored: Json | object = {}): LakeBrandSettings => {
    if (hash('sha256', textOf(stored)) !== sha256)
      throw damagedDocument(key, 'its settings do not match their hash');
    return parseDocument(lakeBrandSchema(reports), key, stored);
  };
}

/** The settings of a version that the lake keeps. @throws BrandReportsError `config` if it is missing or damaged */
export async function readSettingsVersion(
  store: ObjectStore,
  brand: string,
  sha256: string,
  reports: ReportRegistry,
): Promise<LakeBrandSettings> {
  const key = brandSettingsKey(brand, sha256);
  const stored = await store.get(key);
  if (!stored) throw damagedDocument(key, 'the lake lacks it');
  return parseSettingsVersion(key, sha256, reports)(parseJsonDocument(key, stored.body));
}

export async function readBrandSettings(
  store: ObjectStore,
  reports: ReportRegistry,
  brands: readonly string[],
): Promise<ReadonlyMap<string, SettingsInLake | undefined>> {
  const found = await mapConcurrent([...new Set(brands)], CONCURRENCY, async (brand) => {
    const key = brandSettingsKey(brand);
    const stored = await store.get(key);
    const parse = async () =>
      stored &&
      settingsIn(parseCurrentSettings(brand, reports)(parseJsonDocument(key, stored.body)), reports);
    const read = await readOrDamage(parse());
    return [brand, 'damage' in read ? { damage: read.damage.message } : read.value] as const;
  });
  return new Map(found);
}

function settingsIn({ brand, current }: Stored, reports: ReportRegistry) {
  if (!current) return undefined;
  const parse = parseSettingsVersion(brandSettingsKey(brand), current.hash, reports);
  return { settings: parse(current.settings), hash: current.hash, since: current.since };
}

interface StoredSettingsOptions {
  lake: { store: ObjectStore };
  reports: ReportRegistry;
  newId: () => string;
  clock: Pick<Clock, 'sleep' | 'wallMs'>;
  random: () => number;
  log: Log;
}

/** The settings of a lake's brands, as one process has read or written them. Damaged settings count as missing. */
export class StoredSettings {
  readonly #options: StoredSettingsOptions;
  readonly #begunMs: number;
  readonly #documents = new Map<string, CasDocument<Stored>>();
  #listed: Promise<string[]> | undefined;

  constructor(options: StoredSettingsOptions) {
    this.#options = options;
    this.#begunMs = options.clock.wallMs();
  }

  async of(brand: string): Promise<LakeBrandSettings | undefined> {
    return settingsIn(await this.#document(brand).cached(), this.#options.reports)?.settings;
  }

  async usedBy(brand: string, given: LakeBrandSettings): Promise<SettingsName | undefined> {
    const inLake = settingsIn(await this.#document(brand).cached(), this.#options.reports);
    return settingsName(usedSettings([{ brand, inLake }], { brands: { [brand]: given } }), brand);
  }

  async all(given?: LakeSettings): Promise<LakeSettings> {
    this.#listed ??= brandsIn(this.#options.lake.store);
    const listed = new Set([...(await this.#listed), ...this.#documents.keys()]);
    const others = [...listed].filter((brand) => !given?.brands[brand]);
    const found = await mapConcurrent(others, CONCURRENCY, async (brand) => {
      const settings = await this.of(brand);
      return settings ? [[brand, settings] as const] : [];
    });
    return { ...given, brands: { ...Object.fromEntries(found.flat()), ...given?.brands } };
  }

  /** Logs each change of meaning. @returns the hash of the settings that count from now on */
  async adopt(brand: string, given: LakeBrandSettings, adoption = COMMAND_LINE): Promise<string> {
    const { clock, reports, log } = this.#options;
    const settings = keptOf(given);
    const own = hashOfSettings(given);
    // A run that began with older settings, before a deployment, must not bring them back when it ends.
    const isNewer = (ms: number) => this.#begunMs < ms && ms <= clock.wallMs();
    const stays = ({ current }: Stored) =>
      current !== undefined &&
      (isLeft(current, adoption) ||
        isNewer(Date.parse(current.since)) ||
        (current.hash === own && current.by === adoption.by));
    const document = this.#document(brand);
    let before = await document.cached();
    if (stays(before)) return before.current?.hash ?? own;
    await this.keep(brand, given);
    const now = new Date(clock.wallMs()).toISOString();
    const after = await document.update((found) => {
      before = found;
      if (stays(found)) return found;
      const since = found.current?.hash === own ? found.current.since : now;
      return { ...found, current: { hash: own, since, by: adoption.by, settings } };
    });
    const old = after === before ? undefined : settingsIn(before, reports);
    for (const { report, change } of changesOfMeaning(old?.settings ?? given, given))
      log({ event: 'meaning_changed', brand, report, message: change });
    return after.current?.hash ?? own;
  }

  /** Stores a version of settings without adopting it, so that what a close has shown can be derived again. */
  async keep(brand: string, given: LakeBrandSettings): Promise<string> {
    const own = hashOfSettings(given);
    const text = Buffer.from(textOf(keptOf(given)));
    await this.#options.lake.store.put(brandSettingsKey(brand, own), text, { ifAbsent: true });
    return own;
  }

  /** @throws BrandReportsError `config` if a run would leave settings of functions that give records another meaning */
  async assertMayReplace(brands: LakeSettings['brands'], adoption = COMMAND_LINE): Promise<void> {
    if (adoption.by === 'functions') return;
    const found = await mapConcurrent(Object.entries(brands), CONCURRENCY, async ([brand, given]) => {
      // If the store gives no answer now, the brand itself fails; what functions maintain stays in any case.
      const known = await this.#document(brand)
        .cached()
        .catch((thrown: unknown) => {
          if (asBrandReportsError(thrown).kind !== 'transient') throw thrown;
        });
      const old = known && isLeft(known.current, adoption) ? await this.of(brand) : undefined;
      return changesOfMeaning(old ?? given, given).map((of) => `\n- ${brand} ${of.report}: ${of.change}`);
    });
    if (found.flat().length === 0) return;
    throw configError(
      'settings_maintained',
      `Deployed functions maintain the settings of ${this.#options.lake.store.url}, and yours give its records another meaning:${found.flat().join('')}\nUse the deployed settings, or deploy yours. To replace them for all readers until a function runs, add --adopt-settings.`,
    );
  }

  #document(brand: string): CasDocument<Stored> {
    const { lake, reports, newId, clock, random } = this.#options;
    const pause = (tries: number) => clock.sleep(fullJitterMs(tries, DOCUMENT_RETRY, random()));
    const [key, parse] = [brandSettingsKey(brand), parseCurrentSettings(brand, reports)];
    // The next run writes damaged settings again.
    const made = { store: lake.store, key, parse, newId, pause, recovers: true };
    const found = this.#documents.get(brand) ?? new CasDocument(made);
    this.#documents.set(brand, found);
    return found;
  }
}

function isLeft(current: Stored['current'], { by, isAsked }: Adoption): boolean {
  return current?.by === 'functions' && by === 'command_line' && !isAsked;
}

async function brandsIn(store: ObjectStore): Promise<string[]> {
  const found = await Array.fromAsync(store.list(SETTINGS_OF_BRANDS), (each) =>
    parseBrandSettingsKey(each.key),
  );
  return found.flatMap((of) => (of && of.hash === undefined ? [of.brand] : []));
}

export function hashOfSettings(given: LakeBrandSettings): string {
  return hash('sha256', textOf(keptOf(given)));
}

function keptOf(brand: LakeBrandSettings): object {
  const { timeZone, startDate, timestampUnit, firstPage, endTime, endDate } = brand;
  const { lateMinutes, snapshotRetentionDays } = brand;
  const reports = Object.entries(brand.reports).map(([name, { pageSize: _ofRequests, ...own }]) => [
    name,
    own,
  ]);
  return {
    ...{ timeZone, startDate, timestampUnit, firstPage, endTime, endDate },
    ...{ lateMinutes, snapshotRetentionDays, reports: Object.fromEntries(reports) },
  };
}

/** The JSON with the keys of each object in one order: equal settings have equal bytes. */
function textOf(settings: Json | object): string {
  const inOrder = (_key: string, value: unknown) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return `${JSON.stringify(settings, inOrder)}\n`;
}

export interface BrandRoles {
  fields: ReportSettings['fields'];
  words: Readonly<Record<string, string>>;
  /** Missing: the words of the interface. */
  kinds?: string[] | undefined;
}

export function rolesOf(
  settings: LakeBrandSettings | undefined,
  { name }: Pick<ReportDefinition, 'name'>,
): BrandRoles {
  const { fields = {}, states, kinds } = settings?.reports[name] ?? {};
  return { fields, words: states?.words ?? {}, ...(kinds && { kinds }) };
}

/** The roles and the words that other settings change: `commission comm → commissionValue`. */
function changesOfMeaning(before: LakeBrandSettings, after: LakeBrandSettings) {
  return Object.keys(after.reports).flatMap((report) => {
    const [old, now] = [meaningOf(before, report), meaningOf(after, report)];
    return Object.keys({ ...old, ...now })
      .filter((name) => old[name] !== now[name])
      .map((name) => ({ report, change: `${name} ${old[name] ?? 'not set'} → ${now[name] ?? 'not set'}` }));
  });
}

function meaningOf(settings: LakeBrandSettings, name: string): Partial<Record<string, string>> {
  const { fields, words, kinds } = rolesOf(settings, { name });
  const roles = Object.entries(fields).map(([role, field]) => [
    role,
    [field ?? 'no field'].flat().join(' or '),
  ]);
  const states = Object.entries(words).map(([word, state]) => [`word ${JSON.stringify(word)}`, state]);
  const bonuses = kinds ? [['kinds', JSON.stringify(kinds)]] : [];
  return Object.fromEntries([...roles, ...states, ...bonuses]);
}

/** As events have it. `hash`: its first 8 characters. `since`: from when on the lake has them; missing: it has others. */
export const settingsNameSchema = z.object({ hash: z.string(), since: z.optional(storedTime) });
export type SettingsName = z.infer<typeof settingsNameSchema>;
export type UsedSettings = SettingsName & { brand: string };

export function settingsName(used: readonly UsedSettings[], brand: string): SettingsName | undefined {
  const { brand: _brand, ...name } = used.find((of) => of.brand === brand) ?? {};
  return 'hash' in name ? name : undefined;
}

export function usedSettings(
  lake: readonly { brand: string; inLake?: SettingsInLake | undefined }[],
  given: LakeSettings | undefined,
): UsedSettings[] {
  const brands = new Map(lake.map((of) => [of.brand, of.inLake]));
  return [...brands].flatMap(([brand, { hash: known, since } = {}]) => {
    const own = given?.brands[brand];
    const used = own ? hashOfSettings(own) : known;
    if (used === undefined) return [];
    return [{ brand, hash: used.slice(0, 8), ...(used === known && since !== undefined && { since }) }];
  });
}

export interface SettingsNote {
  brand: string;
  text: string;
}

/** A note names each report to which the given settings give another meaning than the lake's. @param origin their name */
export function settingsInUse(
  lake: readonly { brand: string; inLake?: SettingsInLake | undefined }[],
  given: LakeSettings | undefined,
  origin = 'these settings',
): { settings: LakeSettings | undefined; notes: SettingsNote[] } {
  const brands = { ...given?.brands };
  const notes = new Map<string, string[]>();
  for (const { brand, inLake: { settings, since, damage } = {} } of lake) {
    const used = brands[brand] ?? settings;
    if (used) brands[brand] = used;
    const changes = settings && used ? changesOfMeaning(settings, used) : [];
    const differ = [...Map.groupBy(changes, ({ report }) => report)].map(
      ([report, own]) =>
        `fields of ${brand} ${report} are those of ${origin}; the lake has other ones since ${since}: ${own.map(({ change }) => change).join(', ')}`,
    );
    notes.set(brand, [...differ, ...(damage === undefined ? [] : [damage])]);
  }
  return {
    settings: Object.keys(brands).length > 0 ? { ...given, brands } : undefined,
    notes: [...notes].flatMap(([brand, texts]) => texts.map((text) => ({ brand, text }))),
  };
}
