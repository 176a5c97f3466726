/**
 * Small JSON documents that several processes change at the same time: ledgers, progress, report states, schemas.
 * Two processes that each read, change and write such an object would otherwise lose one of the changes.
 *
 * A change is a pure function of the document. It is applied to the newest version known and written on condition
 * that the object is still that version (its ETag). If it is not, the object is read again and the same change is
 * applied to what is there now. Changes requested while a write is under way go together into the next write.
 *
 *   const ledger = new CasDocument({ store, key, parse: parseLedger(key, scope), newId, pause });
 *   await ledger.update((current) => claimDay(current, day, before, mine));
 *
 * Each write adds an id to `recentWrites`. A writer whose response was lost finds its own id there and knows that its
 * write arrived, even when others have written since. Compare-and-swap alone makes concurrent runs safe (I5).
 *
 * Errors of `update`: whatever the change throws, for that change alone · `config` `damaged_document` where the object
 * cannot be parsed and the document has no `recover` · `transient` `contended` after `DOCUMENT_RETRY.maxAttempts` lost races · what the store throws, for all changes of the write.
 */
import { en } from 'zod/locales';
import * as z from 'zod/mini';
import { MINUTE_MS } from '../../days.ts';
import { BrandReportsError, rethrowBugs } from '../../errors.ts';
import { type Json, parseJson } from '../../json.ts';
import type { ObjectStore, PutOutcome } from '../../ports.ts';
import { OBJECT_ID } from '../paths.ts';

/** Every compare-and-swap document holds the ids of its last writes. */
export interface HasRecentWrites {
  recentWrites: string[];
}

const RECENT_WRITES = 20;
/** Retries after a lost race: another process wrote the document first. */
export const DOCUMENT_RETRY = { maxAttempts: 40, baseMs: 10, capMs: 1000 };

/** What a document needs: its place, its parser, ids for writes, and a way to wait. */
export interface CasDocumentOptions<T extends HasRecentWrites> {
  store: ObjectStore;
  key: string;
  /** Parses and checks stored JSON; `undefined` means that the document does not exist yet. */
  parse: (stored: Json | undefined) => T;
  /** How a document begins that nobody has written yet, as far as this process knows: it is not read before its first write. */
  first?: T;
  /** What stands for an object that cannot be parsed; without it that is an error. */
  recover?: (damaged: Uint8Array) => T;
  newId(): string;
  /** Waits before a retry. */
  pause(round: number): Promise<void>;
}

interface Change<T> {
  apply(current: T): T;
  finish(outcome: { value: T } | { error: unknown }): void;
}

/** A JSON object in the store that many processes change by compare-and-swap. */
export class CasDocument<T extends HasRecentWrites> {
  readonly #options: CasDocumentOptions<T>;
  #known: { value: T; etag: string | undefined } | undefined;
  /** Stands for the document until it was seen in the store: a first write that fails must not make it an empty one. */
  #first: T | undefined;
  /** Changes that the next write brings along. */
  #later: readonly Pick<Change<T>, 'apply'>[] = [];
  /** Numbers reads when they begin, and writes when they begin and end; `#known` comes from the operation `#knownSince`. */
  #operations = 0;
  #knownSince = 0;
  #waiting: Change<T>[] = [];
  #writing = false;
  /** The last write, which may be under way, and when the last one that was made has begun and ended. */
  #lastPut: Promise<PutOutcome> | undefined;
  #putBegan = 0;
  #putSince = 0;

  constructor(options: CasDocumentOptions<T>) {
    this.#options = options;
    this.#first = options.first;
    if (options.first) this.#known = { value: options.first, etag: undefined };
  }

  /** The document as last seen by this process, read if it never was. */
  async cached(): Promise<T> {
    return this.#withLater((this.#known ?? (await this.#load())).value);
  }

  /** The document as it is in the store now. */
  async refresh(): Promise<T> {
    return (await this.#load()).value;
  }

  /**
   * Applies a pure change, perhaps several times, and returns the document that contains it. A change that returns
   * the very object that it was given writes nothing; one that throws fails alone.
   */
  update(apply: (current: T) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      apply,
      finish: (outcome) => ('value' in outcome ? resolve(outcome.value) : reject(outcome.error)),
    });
    if (!this.#writing) void this.#writeWaiting();
    return promise;
  }

  /**
   * A pure change that never throws and that the next write brings along; until then only `cached` shows it. It may be
   * lost: another run must be able to find out the same.
   */
  updateLater(apply: (current: T) => T): void {
    this.#later = [...this.#later, { apply }];
  }

  /** Writes what `updateLater` has left. */
  async flush(): Promise<void> {
    if (this.#later.length > 0) await this.update((current) => current);
  }

  #withLater(value: T): T {
    return this.#later.reduce((changed, change) => change.apply(changed), value);
  }

  async #writeWaiting(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch);
      } catch (error) {
        for (const change of batch) change.finish({ error });
      }
    }
    this.#writing = false;
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
    throw new BrandReportsError(
      'transient',
      'contended',
      `${this.#options.key} was changed by others ${DOCUMENT_RETRY.maxAttempts} times in a row while this run tried to change it. Run again.`,
    );
  }

  /** @param later how many of the changes that were left are in it */
  #finish(changes: readonly Change<T>[], value: T, later: number): void {
    this.#later = this.#later.slice(later);
    for (const change of changes) change.finish({ value });
  }

  /** Whether the write is in the store, even if its response was lost. */
  async #put(next: T, etag: string | undefined, id: string): Promise<boolean> {
    const { store, key } = this.#options;
    const body = Buffer.from(`${JSON.stringify(next)}\n`);
    const began = ++this.#operations;
    try {
      this.#lastPut = store.put(key, body, etag === undefined ? { ifAbsent: true } : { ifMatch: etag });
      const outcome = await this.#lastPut;
      if (outcome !== 'conflict') {
        this.#putBegan = began;
        this.#putSince = ++this.#operations;
        this.#know({ value: next, etag: outcome.etag }, this.#putSince);
        return true;
      }
    } catch (error) {
      this.#known = undefined;
      if (!(error instanceof BrandReportsError && error.kind === 'transient')) throw error;
      if ((await this.#load()).value.recentWrites.includes(id)) return true;
      throw error;
    }
    return (await this.#load()).value.recentWrites.includes(id);
  }

  /** @param since when the first of the reads began that this one repeats */
  async #load(since = this.#operations + 1): Promise<{ value: T; etag: string | undefined }> {
    const { store, key } = this.#options;
    const operation = ++this.#operations;
    const stored = await store.get(key);
    // It may be what a write under way has just put there, which that write will know. The same bytes say the same:
    // parsing a month takes longer than reading it.
    if (this.#known?.etag !== stored?.etag) await this.#lastPut?.catch(() => undefined);
    const known = this.#known;
    const isKnown = known !== undefined && known.etag === stored?.etag;
    // A version that is not the one of a write which ended meanwhile is older than that one or newer: only the store knows.
    // Where the write has begun meanwhile too, it is enough that the document was that version then.
    if (!isKnown && operation < this.#putSince)
      return known && since < this.#putBegan ? known : this.#load(since);
    const read = () => (stored ? undefined : this.#first) ?? this.#parse(stored?.body);
    const loaded = isKnown ? known : { value: read(), etag: stored?.etag };
    this.#know(loaded, operation);
    return loaded;
  }

  #parse(body: Uint8Array | undefined): T {
    const { key, parse, recover } = this.#options;
    try {
      return parse(body && parseJsonDocument(key, body));
    } catch (error) {
      const isDamaged = error instanceof BrandReportsError && error.code === 'damaged_document';
      if (body && recover && isDamaged) return recover(body);
      throw error;
    }
  }

  /** A read that began before a write ended, or before a later read did, may be older than what is known. */
  #know(seen: { value: T; etag: string | undefined }, operation: number): void {
    if (seen.etag !== undefined) this.#first = undefined;
    if (operation < this.#knownSince) return;
    this.#known = seen;
    this.#knownSince = operation;
  }
}

/** The document as it is in the store now; `undefined` where it is damaged, so that nothing is known of what it says. */
export async function refreshUndamaged<T extends HasRecentWrites>(
  document: CasDocument<T>,
): Promise<T | undefined> {
  const read = await readOrDamage(document.refresh());
  return 'value' in read ? read.value : undefined;
}

/** What is read of a document, or the error that says how it is damaged; any other failure is thrown. */
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

/** The JSON of a stored document. @throws BrandReportsError `config` where it is not JSON */
export function parseJsonDocument(key: string, body: Uint8Array): Json {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw damagedDocument(key, 'it is not JSON', cause);
  }
}

/** A time as documents hold it: ISO 8601 in UTC. */
export const storedTime = z.iso.datetime();
/** Clocks that are right differ by less. */
const AHEAD_MS = 10 * MINUTE_MS;
const FUTURE = Symbol('future');

/**
 * Marks an object of a document whose stored time is later than every real clock: a clock that was ahead wrote it. This is
 * the only place that compares a stored time with the clocks; all others ask `isFuture`. Copies of the object keep the
 * mark, and JSON leaves symbols out, so that no write stores it.
 * @param latestMs the later of the machine's and the service's clock; a correction of the clock takes the mark away
 */
export function marked<T extends object>(object: T, time: string, latestMs: () => number): T {
  const isAhead = () => Date.parse(time) > latestMs() + AHEAD_MS;
  return isAhead() ? { ...object, [FUTURE]: isAhead } : object;
}

/** Whether a clock that was ahead wrote the object's time. */
export function isFuture(object: object): boolean {
  if (!(FUTURE in object)) return false;
  const { [FUTURE]: isAhead } = object;
  return typeof isAhead === 'function' && isAhead() === true;
}

/**
 * An id that becomes a part of a key. Without the pattern, whoever can change one document could have the runs read, publish
 * or delete objects anywhere in the lake.
 */
export const storedId = z.string().check(z.regex(OBJECT_ID));

/** A count as documents store it. */
export const storedCount = z.int().check(z.nonnegative());

/**
 * An object of a stored document. Fields that this version does not know, because a later one wrote them, survive a
 * read-modify-write. The type names the known fields only, so that a misspelt one does not compile.
 * @param shape called when the first one is parsed: a start of the function would spend a tenth of its time on schemas
 */
export function storedObject<Shape extends z.core.$ZodShape>(
  shape: () => Shape,
): z.ZodMiniLazy<z.ZodMiniObject<Shape>> {
  return z.lazy(() => z.looseObject(shape()));
}

// zod's mini build says "Invalid input" for everything unless it is given the texts that name what was expected.
const english = en().localeError;

/** A stored document, checked against its schema. @throws BrandReportsError `config` naming the first problem */
export function parseDocument<T>(schema: z.ZodMiniType<T>, key: string, stored: Json): T {
  const parsed = z.safeParse(schema, stored, { reportInput: true, error: english });
  if (parsed.success) return parsed.data;
  const { path, input, message } = parsed.error.issues[0] ?? { path: [], input: stored, message: '' };
  const found = typeof input === 'object' ? '' : ` is ${String(JSON.stringify(input)).slice(0, 80)}`;
  throw damagedDocument(key, `${path.join('.') || 'the document'}${found}: ${message}`);
}

/** A stored document that this program cannot have written: nothing is changed until an operator has examined it. */
export function damagedDocument(key: string, what: string, cause?: unknown): BrandReportsError {
  return new BrandReportsError(
    'config',
    'damaged_document',
    `${key} cannot be used: ${what}. Nothing was changed. Next step: "brand-reports repair" says what can be done about it.`,
    { context: { key, problem: what }, cause },
  );
}
