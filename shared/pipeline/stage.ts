/*
 * Stores fetched pages before they are processed. A chunk with their records is written first, then the progress
 * document with the cursor behind them: a crash between the two leaves an unreferenced chunk, never a cursor
 * whose records are missing (I4). Pages are staged in groups, because a document write for each would cost more than
 * the page.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { BrandReportsError } from '../errors.ts';
import { type Json, type JsonObject, isJsonObject, numberText, parseJson, stringifyJson } from '../json.ts';
import { type Observations, observe } from '../lake/table/columns.ts';
import { attemptPrefix, chunkName } from '../lake/paths.ts';
import {
  type RefusedLookup,
  type StagedGroup,
  assertLeaseHeld,
  withStagedGroup,
} from '../lake/documents/progress.ts';
import type { ObjectStore } from '../ports.ts';
import { type Attempt, withRenewedLease } from './claim.ts';
import type { RunContext } from './context.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

const MAX_GROUP_CHARACTERS = 4_000_000;
const MAX_GROUP_MS = 10_000;

/** A page, and how to continue behind it. */
export interface StagedPage {
  records: readonly JsonObject[];
  /** The cursor that it was fetched with, and the hash of its records. */
  cursor: Json;
  hash: string;
  /** The cursor of the next page; `null` where this was the last. */
  next: Json;
  /** Short hash of the cursor that it was fetched with. */
  seen: string;
  /** Of lookups: those that the service refused. */
  refused?: readonly RefusedLookup[];
}

/** The field that identifies a record of the report: the setting `key`, or the definition's primary key. */
export function primaryKeyField({
  report,
  settings,
}: Pick<RunContext, 'report' | 'settings'>): string | undefined {
  return settings.key ?? report.primaryKey?.field;
}

/** The record's primary key as text; `undefined` where it has none. */
export function primaryKeyOf(record: JsonObject, field: string | undefined): string | undefined {
  const value = field === undefined || !Object.hasOwn(record, field) ? undefined : record[field];
  if (typeof value === 'string') return value === '' ? undefined : value;
  return numberText(value);
}

/** Stages the pages of one query of a slice. */
export class Stage {
  readonly #ctx: RunContext;
  readonly #attempt: Attempt;
  readonly #part: number;
  readonly #primaryKey: string | undefined;
  #lines: string[] = [];
  #characters = 0;
  #pages: StagedPage[] = [];
  #recordPages = 0;
  #observations: Observations = {};
  #withoutKey = 0;
  #startedMs: number;
  /** Names below it are in use: without it a day that was restarted would find out anew with each chunk. */
  #nextChunk = 0;

  constructor(ctx: RunContext, attempt: Attempt, part: number, primaryKey: string | undefined) {
    this.#ctx = ctx;
    this.#attempt = attempt;
    this.#part = part;
    this.#primaryKey = primaryKey;
    this.#startedMs = ctx.clock.monotonicMs();
  }

  /** Adds a page, and stages the group where it is large or old enough, or the page is the last one. */
  async add(page: StagedPage): Promise<void> {
    const keys = new Set<string>();
    for (const record of page.records) {
      const line = stringifyJson(record);
      this.#lines.push(line);
      this.#characters += line.length;
      observe(this.#observations, record);
      const key = primaryKeyOf(record, this.#primaryKey);
      // I1: twice on one page is not an overlap of pages, so the field is not a key of these records.
      if (key === undefined || keys.has(key)) this.#withoutKey += 1;
      else keys.add(key);
    }
    this.#pages.push({ ...page, records: [] });
    if (page.records.length > 0) this.#recordPages += 1;
    const isOld = this.#ctx.clock.monotonicMs() - this.#startedMs >= MAX_GROUP_MS;
    if (this.#characters >= MAX_GROUP_CHARACTERS || isOld || page.next === null) await this.flush();
  }

  /** Stages what was added so far: a later run resumes behind it. */
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
      recordPages: this.#recordPages,
      records,
      refused: this.#pages.flatMap(({ refused }) => refused ?? []),
      observations: this.#observations,
      withoutKey: this.#withoutKey,
      done: last.next === null,
      stagedAt: this.#ctx.clock.now().toISOString(),
    };
    // Cleared before the write: a write whose response is lost may have happened, and must not happen twice.
    this.#lines = [];
    this.#characters = 0;
    this.#pages = [];
    this.#recordPages = 0;
    this.#observations = {};
    this.#withoutKey = 0;
    this.#startedMs = this.#ctx.clock.monotonicMs();
    await this.#attempt.progress.update((progress) =>
      withRenewedLease(withStagedGroup(assertLeaseHeld(progress, this.#ctx.runId), group), this.#ctx),
    );
  }

  async #writeChunk(): Promise<string> {
    const { lake, report, brand } = this.#ctx;
    const prefix = attemptPrefix(report.name, brand, this.#attempt.day, this.#attempt.id);
    const body = await compress(`${this.#lines.join('\n')}\n`);
    const { slices } = await this.#attempt.progress.cached();
    const used = slices.flatMap(({ parts }) => parts.flatMap(({ chunks }) => chunks)).length;
    for (let number = Math.max(used, this.#nextChunk); ; number += 1) {
      const name = chunkName(number);
      const written = await lake.store.put(prefix + name, body, { ifAbsent: true });
      this.#nextChunk = number + 1;
      // A name in use belongs to a pass that was dropped, or to a run that died before its progress document named it.
      if (written !== 'conflict') return name;
    }
  }
}

/** The records of a staged chunk, as the service sent them. @throws BrandReportsError `transient` where it is not what was staged */
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
      `${prefix}${chunk.name} ${what}, though progress.json names it; the next run reads the day from its first page`,
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
