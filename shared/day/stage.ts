/*
 * Stores fetched pages before they are processed. It writes a chunk with their records first, then the progress
 * document with the next cursor. A crash between the two leaves an unreferenced chunk, never a cursor whose records are
 * missing (I4). Pages are staged in groups, because a document write for each page would cost more than the page.
 */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib';
import { BrandReportsError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { type Observations, observe } from '../table/columns.ts';
import { chunkName } from '../lake/paths.ts';
import { type RefusedLookup, type SlicePart, type StagedGroup, withStagedGroup } from '../lake/progress.ts';
import { countWithoutKey, type RecordKey, type RecordList, bytesOfList } from '../records/record-list.ts';
import { type Attempt, assertOwn } from './claim.ts';
import type { RunContext } from '../context/context.ts';

const compressAside = promisify(zstdCompress);
/** Level 3, the default, takes 50 % longer for about the same size. The checksum detects damaged chunks. */
const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };
/** Compressing this much takes less time than starting a thread. */
export const SMALL_BYTES = 2 ** 16;

/** Begins each page of a chunk, as in a JSON text sequence (RFC 7464): no JSON text holds this byte. */
export const RECORD_SEPARATOR = Buffer.of(0x1e);

export const MAX_GROUP_BYTES = 4_000_000;
const MAX_GROUP_MS = 10_000;
/** I12: limit for a page. A row group takes 2 kB of memory for each field, and a table has at most 1,000 columns. */
const MAX_FIELDS = 50_000;

/** A page as it was fetched (`service/paging/page.ts`). */
export interface StagedPage {
  records: RecordList;
  cursor: Json;
  hash: string;
  next: Json;
  seen: string;
  lastKey?: string;
  mayHaveGap?: boolean;
  /** Only on the last page: the digests of all records of the query. */
  answer?: SlicePart['answer'];
  /** For lookups that the service refused, and for keys for which it responded without a record. */
  refused?: readonly RefusedLookup[];
  empty?: readonly string[];
}

export class Stage {
  readonly #ctx: RunContext;
  readonly #attempt: Attempt;
  readonly #part: number;
  readonly #primaryKey: RecordKey | undefined;
  /** The chunk to be written, in a buffer that is reused: the memory of a page's response can be freed. */
  #chunk = Buffer.alloc(0);
  #group: ReturnType<typeof beginGroup>;

  constructor(ctx: RunContext, attempt: Attempt, part: number, primaryKey: RecordKey | undefined) {
    this.#ctx = ctx;
    this.#attempt = attempt;
    this.#part = part;
    this.#primaryKey = primaryKey;
    this.#group = beginGroup(ctx);
  }

  /** Adds a page. If the group is large or old enough, or if the page is the last one, the group is staged. */
  async add(page: StagedPage): Promise<void> {
    const { records: list, ...rest } = page;
    if (list.fields.length > MAX_FIELDS) throw tooManyFields(this.#ctx, list.fields.length);
    const group = this.#group;
    group.withoutKey += countWithoutKey(list, this.#primaryKey);
    observe(group.observations, list);
    group.pages.push(rest);
    if (list.count > 0) {
      group.records += list.count;
      this.#append(RECORD_SEPARATOR);
      this.#append(bytesOfList(list));
    }
    const isOld = this.#ctx.clock.monotonicMs() - group.startedMs >= MAX_GROUP_MS;
    if (group.bytes >= MAX_GROUP_BYTES || isOld || page.next === null) await this.flush();
  }

  async flush(): Promise<void> {
    const { pages, records, observations, withoutKey } = this.#group;
    const last = pages.at(-1);
    if (!last) return;
    const name = records > 0 ? await this.#writeChunk() : undefined;
    const group: StagedGroup = {
      ...{ records, observations, withoutKey },
      part: this.#part,
      chunk: name === undefined ? undefined : { name, records },
      cursor: last.next,
      last: { cursor: last.cursor, hash: last.hash, lastKey: last.lastKey },
      seen: pages.map(({ seen }) => seen),
      pages: pages.length,
      mayHaveGap: pages.some(({ mayHaveGap }) => mayHaveGap),
      answer: last.answer,
      refused: pages.flatMap(({ refused }) => refused ?? []),
      empty: pages.flatMap(({ empty }) => empty ?? []),
      done: last.next === null,
      stagedAt: this.#ctx.clock.now().toISOString(),
    };
    // Begun before the write: if the response is lost, the write may have happened, and it must not happen twice.
    this.#group = beginGroup(this.#ctx);
    await this.#attempt.progress.update((progress) =>
      withStagedGroup(assertOwn(progress, this.#ctx.runId, this.#attempt.day), group),
    );
  }

  #append(bytes: Uint8Array): void {
    const end = this.#group.bytes + bytes.length;
    if (end > this.#chunk.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#chunk.length));
      this.#chunk.copy(larger, 0, 0, this.#group.bytes);
      this.#chunk = larger;
    }
    this.#chunk.set(bytes, this.#group.bytes);
    this.#group.bytes = end;
  }

  async #writeChunk(): Promise<string> {
    const { lake, newId } = this.#ctx;
    const body = await compress(this.#chunk.subarray(0, this.#group.bytes));
    // Chunks of dropped pages, or of a run that died before its progress document listed them, have other names.
    const name = chunkName(newId());
    await lake.store.put(this.#attempt.keys.attempt(this.#attempt.id) + name, body, { ifAbsent: true });
    return name;
  }
}

/** What the pages since the last group have in common. `bytes`: of the chunk. */
function beginGroup({ clock }: RunContext) {
  const pages: Omit<StagedPage, 'records'>[] = [];
  const observations: Observations = {};
  const counts = { bytes: 0, records: 0, withoutKey: 0 };
  return { ...counts, pages, observations, startedMs: clock.monotonicMs() };
}

function tooManyFields({ brand, report: { action } }: RunContext, fields: number): BrandReportsError {
  const message = `the records of one page have ${fields} different fields, at most ${MAX_FIELDS} are allowed. If the service uses data as field names, report it to its operator. If the records are right, lower page_size or limit`;
  return new BrandReportsError('contract', 'too_many_fields', `${brand} ${action}: ${message}`);
}

/** Uses buffers of about the right size, because memory outside the heap triggers full garbage collections. */
function compress(chunk: Uint8Array): Uint8Array | Promise<Uint8Array> {
  const options = { params: ZSTD_PARAMS, chunkSize: Math.min(2 ** 20, chunk.length + 2 ** 10) };
  return chunk.length <= SMALL_BYTES ? zstdCompressSync(chunk, options) : compressAside(chunk, options);
}
