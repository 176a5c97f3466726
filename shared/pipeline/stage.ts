import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { BrandReportsError } from '../errors.ts';
import { type Json, type JsonObject, isJsonObject, numberText, parseJson, stringifyJson } from '../json.ts';
import { type Observations, observe } from '../lake/table/columns.ts';
import { attemptPrefix, chunkName } from '../lake/paths.ts';
import { type StagedGroup, assertLeaseHeld, withStagedGroup } from '../lake/documents/progress.ts';
import type { ObjectStore } from '../ports.ts';
import { type Attempt, withRenewedLease } from './claim.ts';
import type { RunContext } from './context.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

const GROUP_CHARACTERS = 4_000_000;
const GROUP_MS = 10_000;

/** A page, and how to go on behind it. */
export interface StagedPage {
  records: readonly JsonObject[];
  /** What asked for it, and the hash of its records. */
  cursor: Json;
  hash: string;
  /** What asks for the next one; `null` where this was the last. */
  next: Json;
  /** Short hash of the cursor that asked for it. */
  seen: string;
}

/** The field that tells the report's records apart: the setting `key`, or the definition's. */
export function primaryKeyField({ report, settings }: RunContext): string | undefined {
  return settings.key ?? report.primaryKey?.field;
}

/** The text that tells a record apart, `undefined` where it has none. */
export function primaryKeyOf(record: JsonObject, field: string | undefined): string | undefined {
  const value = field === undefined || !Object.hasOwn(record, field) ? undefined : record[field];
  if (typeof value === 'string') return value === '' ? undefined : value;
  return numberText(value);
}

/** Stages the pages of one part of a reading in groups: the chunk first, then the progress with the cursor behind it. */
export class Stage {
  readonly #run: RunContext;
  readonly #reading: Attempt;
  readonly #part: number;
  readonly #identity: string | undefined;
  #lines: string[] = [];
  #characters = 0;
  #pages: StagedPage[] = [];
  #observations: Observations = {};
  #withoutKey = 0;
  #since: number;

  constructor(run: RunContext, reading: Attempt, part: number, identity: string | undefined) {
    this.#run = run;
    this.#reading = reading;
    this.#part = part;
    this.#identity = identity;
    this.#since = run.clock.wallMs();
  }

  /** Takes a page, and stages the group if it has become large or old enough. */
  async add(page: StagedPage): Promise<void> {
    const met = new Set<string>();
    for (const record of page.records) {
      const line = stringifyJson(record);
      this.#lines.push(line);
      this.#characters += line.length;
      observe(this.#observations, record);
      const id = primaryKeyOf(record, this.#identity);
      // What a page holds twice is no overlap of pages: it does not tell records apart.
      if (id === undefined || met.has(id)) this.#withoutKey += 1;
      else met.add(id);
    }
    this.#pages.push({ ...page, records: [] });
    const old = this.#run.clock.wallMs() - this.#since >= GROUP_MS;
    if (this.#characters >= GROUP_CHARACTERS || old || page.next === null) await this.flush();
  }

  /** Stages what it holds; afterwards a run that goes on begins behind it. */
  async flush(): Promise<void> {
    const last = this.#pages.at(-1);
    if (!last) return;
    const records = this.#lines.length;
    const name = records > 0 ? await this.#writeChunk() : undefined;
    const group: StagedGroup = {
      part: this.#part,
      chunk: name === undefined ? undefined : { name, records },
      cursor: last.next,
      last: { cursor: last.cursor, hash: last.hash },
      seen: this.#pages.map(({ seen }) => seen),
      pages: this.#pages.length,
      records,
      observations: this.#observations,
      withoutKey: this.#withoutKey,
      done: last.next === null,
    };
    // Before the write: one whose answer is lost may have been done, and must not be done twice.
    this.#lines = [];
    this.#characters = 0;
    this.#pages = [];
    this.#observations = {};
    this.#withoutKey = 0;
    this.#since = this.#run.clock.wallMs();
    const { runId } = this.#run;
    await this.#reading.progress.update((progress) =>
      withRenewedLease(withStagedGroup(assertLeaseHeld(progress, runId), group), this.#run),
    );
  }

  async #writeChunk(): Promise<string> {
    const { lake, report, brand } = this.#run;
    const prefix = attemptPrefix(report.name, brand, this.#reading.day, this.#reading.id);
    const body = await compress(`${this.#lines.join('\n')}\n`);
    const { slices } = await this.#reading.progress.cached();
    const used = slices.flatMap(({ parts }) => parts.flatMap(({ chunks }) => chunks)).length;
    for (let number = used; ; number += 1) {
      const name = chunkName(number);
      // A name that is taken belongs to a run that died or was taken over before its progress named it.
      if ((await lake.store.put(prefix + name, body, { ifAbsent: true })) !== 'conflict') return name;
    }
  }
}

/** The records of a staged chunk, as they came. @throws where the chunk is not what was staged */
export async function readChunk(
  store: ObjectStore,
  prefix: string,
  chunk: { name: string; records: number },
): Promise<JsonObject[]> {
  const stored = await store.get(prefix + chunk.name);
  const damaged = (what: string, cause?: unknown) =>
    new BrandReportsError(
      'transient',
      'damaged_chunk',
      `${prefix}${chunk.name} ${what}, though progress.json names it; the day is read anew`,
      { cause },
    );
  if (!stored) throw damaged('is missing');
  try {
    const text = (await decompress(stored.body)).toString('utf8');
    const records = text.split('\n').slice(0, -1).map(parseJson).filter(isJsonObject);
    if (records.length === chunk.records) return records;
  } catch (cause) {
    throw damaged('cannot be read', cause);
  }
  throw damaged(`does not hold the ${chunk.records} records that were staged`);
}
