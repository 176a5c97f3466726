import { en } from 'zod/locales';
import * as z from 'zod/mini';
import { BrandReportsError } from '../../errors.ts';
import { type Json, parseJson } from '../../json.ts';
import type { ObjectStore } from '../../ports.ts';

/** What every compare-and-swap document holds: the ids of its last writes. */
export interface HasRecentWrites {
  recentWrites: string[];
}

const RECENT_WRITES = 20;
/** Of a race that was lost: others wrote the document first. */
export const DOCUMENT_RETRY = { maxAttempts: 40, baseMs: 10, capMs: 1000 };

export interface CasDocumentOptions<T extends HasRecentWrites> {
  store: ObjectStore;
  key: string;
  /** Parses hostile JSON; `undefined` is the document that does not exist yet. */
  parse: (stored: Json | undefined) => T;
  newId(): string;
  /** Waits between two rounds of a race that was lost. */
  pause(round: number): Promise<void>;
}

interface Change<T> {
  apply(current: T): T;
  settle(outcome: { value: T } | { error: unknown }): void;
}

/**
 * A JSON object in the store that many processes change by compare-and-swap: mutate → conditional write → on
 * conflict read again and mutate anew. Changes that are asked for while a write is under way go together in
 * the next one. A writer whose answer was lost finds its own id in `recent`, even when others have built on it.
 */
export class CasDocument<T extends HasRecentWrites> {
  readonly #options: CasDocumentOptions<T>;
  #known: { value: T; etag: string | undefined } | undefined;
  /** Counts reads begun and writes ended, and which of them `#known` comes from. */
  #turn = 0;
  #knownSince = 0;
  #waiting: Change<T>[] = [];
  #writing = false;

  constructor(options: CasDocumentOptions<T>) {
    this.#options = options;
  }

  /** The document as last seen by this process, read if it never was. */
  async cached(): Promise<T> {
    return (this.#known ?? (await this.#load())).value;
  }

  /** The document as it is in the store now. */
  async refresh(): Promise<T> {
    return (await this.#load()).value;
  }

  /**
   * Applies a pure change, perhaps several times, and returns the document with it. A change that gives back
   * the very object it got writes nothing; one that throws fails alone.
   */
  update(apply: (current: T) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      apply,
      settle: (outcome) => ('value' in outcome ? resolve(outcome.value) : reject(outcome.error)),
    });
    if (!this.#writing) void this.#writeWaiting();
    return promise;
  }

  async #writeWaiting(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch);
      } catch (error) {
        for (const change of batch) change.settle({ error });
      }
    }
    this.#writing = false;
  }

  async #write(batch: Change<T>[]): Promise<void> {
    let pending = batch;
    for (let round = 0; round < DOCUMENT_RETRY.maxAttempts; round += 1) {
      if (round > 0) await this.#options.pause(round);
      const { value: before, etag } = this.#known ?? (await this.#load());
      const { after, applied } = applyAll(before, pending);
      pending = applied;
      if (after === before) return settleAll(pending, before);
      const id = this.#options.newId();
      const next = { ...after, recentWrites: [...before.recentWrites, id].slice(-RECENT_WRITES) };
      if (await this.#put(next, etag, id)) return settleAll(pending, next);
    }
    throw new BrandReportsError(
      'transient',
      'contended',
      `${this.#options.key} was changed by others ${DOCUMENT_RETRY.maxAttempts} times in a row while this run tried to; run again`,
    );
  }

  /** True where the write is in the store, though perhaps its answer was lost. */
  async #put(next: T, etag: string | undefined, id: string): Promise<boolean> {
    const { store, key } = this.#options;
    const body = Buffer.from(`${JSON.stringify(next)}\n`);
    try {
      const outcome = await store.put(key, body, etag === undefined ? { ifAbsent: true } : { ifMatch: etag });
      if (outcome !== 'conflict') {
        this.#know({ value: next, etag: outcome.etag }, ++this.#turn);
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

  async #load(): Promise<{ value: T; etag: string | undefined }> {
    const { store, key, parse } = this.#options;
    const turn = ++this.#turn;
    const stored = await store.get(key);
    const loaded = { value: parse(stored && parseJsonDocument(key, stored.body)), etag: stored?.etag };
    this.#know(loaded, turn);
    return loaded;
  }

  /** A read that began before a write ended, or before a later read did, may be older than what is known. */
  #know(seen: { value: T; etag: string | undefined }, turn: number): void {
    if (turn < this.#knownSince) return;
    this.#known = seen;
    this.#knownSince = turn;
  }
}

function applyAll<T>(before: T, changes: Change<T>[]): { after: T; applied: Change<T>[] } {
  let after = before;
  const applied = changes.filter((change) => {
    try {
      after = change.apply(after);
      return true;
    } catch (error) {
      change.settle({ error });
      return false;
    }
  });
  return { after, applied };
}

function settleAll<T>(changes: Change<T>[], value: T): void {
  for (const change of changes) change.settle({ value });
}

/** The JSON of a stored document. @throws BrandReportsError `config` where it is none */
export function parseJsonDocument(key: string, body: Uint8Array): Json {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw damagedDocument(key, 'it is not JSON', cause);
  }
}

/** A time as documents hold it: ISO 8601 in UTC. */
export const storedTime = z.iso.datetime();
export const storedCount = z.int().check(z.nonnegative());

/**
 * An object of a stored document. Fields that this version does not know, because a later one wrote them, survive a
 * read-modify-write. The type names the known fields only, so that a misspelt one does not compile.
 */
export function storedObject<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodMiniObject<Shape> {
  return z.looseObject(shape);
}

// The small zod says "Invalid input" for everything unless it gets the texts that say what was expected.
const english = en().localeError;

/** A stored document as its schema has it. @throws BrandReportsError `config` naming the first thing that is wrong */
export function parseDocument<T>(schema: z.ZodMiniType<T>, key: string, stored: Json): T {
  const parsed = z.safeParse(schema, stored, { reportInput: true, error: english });
  if (parsed.success) return parsed.data;
  const { path, input, message } = parsed.error.issues[0] ?? { path: [], input: stored, message: '' };
  const met = typeof input === 'object' ? '' : ` is ${String(JSON.stringify(input)).slice(0, 80)}`;
  throw damagedDocument(key, `${path.join('.') || 'the whole'}${met}: ${message}`);
}

/** A hint and an attempt can be made anew; a ledger and a schema hold what nothing else does. */
function nextStep(key: string): string {
  return /\/(index|progress)\.json$/.test(key)
    ? 'remove the object to have it made anew'
    : 'restore the object from a backup; removing it would lose what is published or what types columns have';
}

/** A stored document that this program did not write so: nothing is changed until an operator has looked. */
export function damagedDocument(key: string, what: string, cause?: unknown): BrandReportsError {
  return new BrandReportsError(
    'config',
    'damaged_document',
    `${key} cannot be used: ${what}. Nothing was changed; ${nextStep(key)}`,
    { cause },
  );
}
