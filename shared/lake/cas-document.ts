/**
 * `CasDocument` changes a small JSON document that several processes write: a ledger, a progress document, a schema.
 * Without it, two processes that read, change and write the same object would lose one of the changes.
 * A change is a pure function of the document. It is applied to the newest version that this process has seen, and the
 * result is written on condition that the object still has that version's ETag. If it has another ETag, the object is
 * read again and the same change is applied to the new content. Reads and writes follow one another, so that no read
 * that began before a write replaces what was written. Changes requested meanwhile go together into the next write.
 * Each write adds an id to `recentWrites`. A writer whose response was lost finds its own id there if its write arrived,
 * even if others have written since. Compare-and-swap alone makes concurrent runs safe (I5).
 * `update` throws:
 * - the error of the change, to the caller of that change alone
 * - `config` `damaged_document` if the object was lost, or cannot be parsed unless the document `recovers`
 * - `transient` `contended` after `DOCUMENT_RETRY.maxAttempts` lost races
 * - `config` `other_format` if a program with another format of lakes wrote the object, even if the document `recovers`
 * - an error of the store, to the callers of all changes in the write
 */
import { en } from 'zod/locales';
import * as z from 'zod/mini';
import { BrandReportsError, rethrowBugs } from '../base/errors.ts';
import { type Json, isJsonObject, parseJson } from '../base/json.ts';
import type { ObjectStore } from '../ports.ts';
import { OBJECT_ID } from './paths.ts';

/**
 * The field `version` of every document. Raise it with each issue that changes stored documents: after such a change an
 * older program would misread a lake, or a newer program an older lake. No program migrates a lake. Version 0.2.0 wrote 1.
 */
export const LAKE_FORMAT = 2;

export interface HasRecentWrites {
  recentWrites: string[];
}

const RECENT_WRITES = 20;
/** Retries after a lost race: another process wrote the document first. */
export const DOCUMENT_RETRY = { maxAttempts: 40, baseMs: 10, capMs: 1000 };

export interface CasDocumentOptions<T extends HasRecentWrites> {
  store: ObjectStore;
  key: string;
  /** Parses and checks stored JSON; `undefined` means that the document does not exist yet. */
  parse: (stored: Json | undefined) => T;
  /** The content before any write, as far as this process has seen. With it, the first write skips the read. */
  first?: T;
  /** What an object that cannot be parsed counts as; `true`: as missing. Otherwise, `damaged_document` is thrown. */
  recovers?: boolean | T;
  /** What proves that a missing object was lost: a new document would contradict the objects that the lost one named. */
  whenMissing?: () => Promise<string | undefined>;
  newId(): string;
  pause(round: number): Promise<void>;
}

interface Change<T> {
  apply(current: T): T;
  finish(outcome: { value: T } | { error: unknown }): void;
}

/** A version of the document; without an etag, it was not in the store. */
interface Known<T> {
  value: T;
  etag: string | undefined;
}

export class CasDocument<T extends HasRecentWrites> {
  readonly #options: CasDocumentOptions<T>;
  #known: Known<T> | undefined;
  /** Stands for the document until it was seen in the store: after a failed first write, `#load` must not return nothing. */
  #first: T | undefined;
  #later: readonly Pick<Change<T>, 'apply'>[] = [];
  #waiting: Change<T>[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: CasDocumentOptions<T>) {
    this.#options = options;
    this.#first = options.first;
    if (options.first) this.#known = { value: options.first, etag: undefined };
  }

  /** The document as this process last saw it; reads it if this process has never seen it. */
  async cached(): Promise<T> {
    const { value } = this.#known ?? (await this.#inTurn(async () => this.#known ?? (await this.#load())));
    return this.#withLater(value);
  }

  async refresh(): Promise<T> {
    return (await this.#inTurn(() => this.#load())).value;
  }

  /**
   * Applies a pure change, perhaps several times, and returns the document that contains it. A change that returns
   * the object it was given writes nothing. A change that throws fails alone.
   */
  update(apply: (current: T) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      apply,
      finish: (outcome) => ('value' in outcome ? resolve(outcome.value) : reject(outcome.error)),
    });
    if (this.#waiting.length === 1) void this.#inTurn(() => this.#writeWaiting());
    return promise;
  }

  /**
   * Leaves a pure change that never throws to the next write; until then only `cached` shows it. The change is lost
   * if no write follows, so another run must be able to find out the same.
   */
  updateLater(apply: (current: T) => T): void {
    this.#later = [...this.#later, { apply }];
  }

  async flush(): Promise<void> {
    if (this.#later.length > 0) await this.update((current) => current);
  }

  #withLater(value: T): T {
    return this.#later.reduce((changed, change) => change.apply(changed), value);
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #writeWaiting(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      await this.#write(batch);
    } catch (error) {
      for (const change of batch) change.finish({ error });
    }
  }

  async #write(batch: Change<T>[]): Promise<void> {
    let pending = batch;
    for (let round = 0; round < DOCUMENT_RETRY.maxAttempts; round += 1) {
      if (round > 0) await this.#options.pause(round);
      const { value: before, etag } = this.#known ?? (await this.#load());
      const later = this.#later.length;
      const { after, applied } = applyAll(this.#withLater(before), pending);
      pending = applied;
      if (after === before) return this.#finish(pending, before, later);
      const id = this.#options.newId();
      const next = { ...after, recentWrites: [...before.recentWrites, id].slice(-RECENT_WRITES) };
      if (await this.#put(next, etag, id)) return this.#finish(pending, next, later);
    }
    const message = `${this.#options.key} was changed by others ${DOCUMENT_RETRY.maxAttempts} times in a row while this run tried to change it. Run again.`;
    throw new BrandReportsError('transient', 'contended', message);
  }

  /** @param later how many of the changes left by `updateLater` are in `value` */
  #finish(changes: readonly Change<T>[], value: T, later: number): void {
    this.#later = this.#later.slice(later);
    for (const change of changes) change.finish({ value });
  }

  /** Whether the write is in the store, even if its response was lost. */
  async #put(next: T, etag: string | undefined, id: string): Promise<boolean> {
    const { store, key } = this.#options;
    const body = documentBytes(next);
    try {
      const outcome = await store.put(key, body, etag === undefined ? { ifAbsent: true } : { ifMatch: etag });
      if (outcome !== 'conflict') {
        this.#know({ value: next, etag: outcome.etag });
        return true;
      }
    } catch (error) {
      if (!(error instanceof BrandReportsError && error.kind === 'transient')) throw error;
      if ((await this.#load()).value.recentWrites.includes(id)) return true;
      throw error;
    }
    return (await this.#load()).value.recentWrites.includes(id);
  }

  async #load(): Promise<Known<T>> {
    const { store, key, whenMissing } = this.#options;
    let stored = await store.get(key);
    // Parsing a month takes longer than reading it.
    if (this.#known && this.#known.etag === stored?.etag) return this.#known;
    const lost = stored || this.#first ? undefined : await whenMissing?.();
    if (lost !== undefined) {
      // Another run may have written the document, and then the objects that it names, since the first read.
      stored = await store.get(key);
      if (!stored) throw damagedDocument(key, lost);
    }
    const value = (stored ? undefined : this.#first) ?? this.#parse(stored?.body);
    return this.#know({ value, etag: stored?.etag });
  }

  #parse(body: Uint8Array | undefined): T {
    const { key, parse, recovers } = this.#options;
    try {
      return parse(body && parseJsonDocument(key, body));
    } catch (error) {
      const isDamaged = error instanceof BrandReportsError && error.code === 'damaged_document';
      if (body && recovers && isDamaged) return recovers === true ? parse(undefined) : { ...recovers };
      throw error;
    }
  }

  #know(seen: Known<T>): Known<T> {
    if (seen.etag !== undefined) this.#first = undefined;
    this.#known = seen;
    return seen;
  }
}

/** The document; `undefined` if it is damaged, so that its contents are unknown. Any other failure is thrown. */
export async function undamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  const read = await readOrDamage(reading);
  return 'value' in read ? read.value : undefined;
}

export async function readOrDamage<T>(
  reading: Promise<T>,
): Promise<{ value: T } | { damage: BrandReportsError }> {
  try {
    return { value: await reading };
  } catch (thrown) {
    const damage = rethrowBugs(thrown);
    if (damage.code !== 'damaged_document') throw thrown;
    return { damage };
  }
}

function applyAll<T>(before: T, changes: Change<T>[]): { after: T; applied: Change<T>[] } {
  let after = before;
  const applied = changes.filter((change) => {
    try {
      after = change.apply(after);
      return true;
    } catch (error) {
      change.finish({ error });
      return false;
    }
  });
  return { after, applied };
}

export function documentBytes(value: object): Uint8Array {
  return Buffer.from(`${JSON.stringify({ version: LAKE_FORMAT, ...value })}\n`);
}

/** The JSON of a stored document. @throws BrandReportsError `config` if it is not JSON, or has another format */
export function parseJsonDocument(key: string, body: Uint8Array): Json {
  const parsed = jsonOf(key, body);
  const { version } = isJsonObject(parsed) ? parsed : {};
  if (typeof version === 'number' && version !== LAKE_FORMAT) throw otherFormat(key, version);
  return parsed;
}

function jsonOf(key: string, body: Uint8Array): Json {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw damagedDocument(key, 'it is not JSON', cause);
  }
}

/** A time in a document: ISO 8601 in UTC. */
export const storedTime = z.iso.datetime();

/** Without the pattern, whoever can change one document could make runs read or delete objects anywhere in the lake. */
export const storedId = z.string().check(z.regex(OBJECT_ID));

export const storedCount = z.int().check(z.nonnegative());

/**
 * An object of a stored document. Unknown fields, which a later program wrote, survive a read-modify-write. The type has
 * the known fields only, so that a misspelt name does not compile.
 * @param shape called when the first object is parsed: building all schemas would take a tenth of a function's start
 */
export function storedObject<Shape extends z.core.$ZodShape>(
  shape: () => Shape,
): z.ZodMiniLazy<z.ZodMiniObject<Shape>> {
  return z.lazy(() => z.looseObject(shape()));
}

// Without these texts, zod's mini build reports "Invalid input" for everything instead of naming what it expected.
const english = en().localeError;

/** Checks a stored document against its schema. @throws BrandReportsError `config` with the first problem */
export function parseDocument<T>(schema: z.ZodMiniType<T>, key: string, stored: unknown): T {
  const parsed = z.safeParse(schema, stored, { reportInput: true, error: english });
  if (parsed.success) return parsed.data;
  const { path, input, message } = parsed.error.issues[0] ?? { path: [], input: stored, message: '' };
  const found = typeof input === 'object' ? '' : ` is ${String(JSON.stringify(input)).slice(0, 80)}`;
  throw damagedDocument(key, `${path.join('.') || 'the document'}${found}: ${message}`);
}

/** @param begun the document before it was first written */
export function documentParser<T>(schema: z.ZodMiniType<T>, begun: T) {
  return (key: string) =>
    (stored: Json | undefined): T =>
      stored === undefined ? begun : parseDocument(schema, key, stored);
}

/** Such a program would return wrong numbers, and its vacuum would delete the objects that it does not recognise. */
function otherFormat(key: string, version: number): BrandReportsError {
  const message = `${key} has format ${version}; this program reads and writes format ${LAKE_FORMAT}. Nothing was changed. Next step: use the version of brand-reports that wrote the lake, or read the days again into an empty lake with this version: a new folder, or a new stack.`;
  return new BrandReportsError('config', 'other_format', message);
}

/** Nothing is changed until an operator has examined the document. */
export function damagedDocument(key: string, what: string, cause?: unknown): BrandReportsError {
  const message = `${key} cannot be used: ${what}. Nothing was changed. Next step: "brand-reports verify" shows what can be put back, and this command does it: "brand-reports verify --restore"`;
  return new BrandReportsError('config', 'damaged_document', message, { context: { problem: what }, cause });
}
