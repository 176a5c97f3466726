/*
 * Writes the rows of a day anew: those before, with what the version that replaces the current one says of them. Rows that
 * stay as they were are copied as columns. I12: the records of a version are in memory in parts, by a hash of their keys.
 */
import type { Column } from '../column-types.ts';
import { shortHashOfBytes, viewOf } from '../records/murmur.ts';
import { type CodedFile, rowsOf } from '../lake/table/coded-columns.ts';
import { type CodedColumn, CodedRows, type NamedColumn, valueOfCode } from '../lake/table/coded-rows.ts';
import { countOf } from '../lake/table/column-facts.ts';
import type { Row } from '../lake/table/columns.ts';
import { Digest } from '../lake/table/digest.ts';
import type { ParquetFile } from '../lake/table/parquet.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from '../lake/table/row-group-limits.ts';
import { textsOf } from '../lake/table/texts.ts';
import { type Identity, NowIndex, nameOf } from './now-index.ts';
import { recordsOf } from './records.ts';
import type { Rules } from './rules.ts';
import { type Moment, NOW_COLUMNS, rowAfter } from './transitions.ts';

/** About 30 MB. */
export const MAX_RECORDS = 100_000;
/** So many rows that stay together are a row group of their own. */
const WHOLE_ROWS = 1_000;

/** What became of the records up to the version before. */
export interface Earlier {
  file: CodedFile;
  digest: string;
  /** Its keys are others: an order and product that has one row and one record is the same. */
  hasOtherKey: boolean;
}

/** What is replayed. */
export interface Replay {
  earlier: Earlier | undefined;
  version: CodedFile;
  rules: Rules;
  moment: Moment;
}

/**
 * @param columns of the table
 * @param most how many records are in memory
 * @returns the digest of the rows, and how many records of the version they have
 * @throws if a file is not what was written
 */
export async function replay(
  file: ParquetFile,
  columns: readonly Column[],
  { earlier: known, version, rules, moment }: Replay,
  most = MAX_RECORDS,
): Promise<{ digest: string; records: number }> {
  const output = new Output(file, columns);
  const parts = Math.ceil(Math.max(1, version.rows, known?.file.rows ?? 0) / most);
  // All records with one key have to be in one part, and so would have all with one order.
  const earlier = known?.hasOtherKey && parts > 1 ? undefined : known;
  let records = 0;
  for (let part = 0; part < parts; part += 1) {
    const isOfPart = (of: Identity) => parts === 1 || hashOf(of) % parts === part;
    const index = new NowIndex();
    for await (const group of recordsOf(version, rules))
      for (const now of group.filter(isOfPart)) {
        records += 1;
        index.add(now);
      }
    if (earlier?.hasOtherKey) index.groupByOrder();
    const digest = new Digest();
    for await (const { rows, columns: read } of earlier?.file.groups() ?? []) {
      const group = { rows, columns: new Map(digest.addColumns(rows, read)) };
      await output.replayGroup(group, index, moment, isOfPart);
    }
    if (earlier && digest.value() !== earlier.digest)
      throw new Error('its digest is not the one that was committed');
    for (const { before, now } of index.rest()) await output.append(rowAfter(before, now, moment));
  }
  await output.flush();
  return { digest: output.digest.value(), records };
}

function hashOf(of: Identity): number {
  const bytes = Buffer.from(typeof of.key === 'string' ? of.key : nameOf(of));
  return shortHashOfBytes(viewOf(bytes), 0, bytes.length) >>> 0;
}

interface Group {
  rows: number;
  columns: ReadonlyMap<string, CodedColumn>;
}

/** A row that differs from the one before. */
interface Change {
  before: Row;
  after: Row;
}

class Output {
  readonly digest = new Digest();
  readonly #file: ParquetFile;
  readonly #columns: readonly Column[];
  #pending = new CodedRows();

  constructor(file: ParquetFile, columns: readonly Column[]) {
    this.#file = file;
    this.#columns = columns;
  }

  async append(row: Row | undefined): Promise<void> {
    if (!row) return;
    this.#pending.append(row);
    const { rows, bytes } = this.#pending;
    if (rows >= maxRowsOfGroup(this.#columns.length) || bytes >= ROW_GROUP_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const pending = this.#pending;
    this.#pending = new CodedRows();
    if (pending.rows > 0) await this.#write(pending.rows, pending.columns());
  }

  /** Writes the rows of a group that are of the part: as columns, if they are many. */
  async replayGroup(
    group: Group,
    index: NowIndex,
    moment: Moment,
    isOfPart: (of: Identity) => boolean,
  ): Promise<void> {
    const { kept, changes } = replayed(group, index, moment, isOfPart);
    const columns = this.#columns.flatMap((column): NamedColumn[] => {
      const changed = changedColumn(column, group.columns.get(column.name), kept, changes);
      return changed ? [[column.name, changed]] : [];
    });
    if (kept.length < WHOLE_ROWS)
      for (const row of rowsOf({ rows: kept.length, columns })) await this.append(row);
    else {
      await this.flush();
      await this.#write(kept.length, columns);
    }
  }

  async #write(rows: number, columns: Iterable<NamedColumn>): Promise<void> {
    await this.#file.writeGroup(rows, this.digest.addColumns(rows, columns));
  }
}

/** Which rows of a group stay, and by their place among these what they become where that differs. */
function replayed(
  { rows, columns }: Group,
  index: NowIndex,
  moment: Moment,
  isOfPart: (of: Identity) => boolean,
): { kept: number[]; changes: Map<number, Change> } {
  const readers = new Map([...columns].map(([name, column]) => [name, readerOf(column)] as const));
  const at = (name: string) => readers.get(name) ?? (() => undefined);
  const [key, kind, publisher, currency, order, product, gone] = [
    at('key'),
    at('kind'),
    at('publisher_id'),
    at('currency'),
    at('order_id'),
    at('product'),
    at('gone_by'),
  ];
  const compared = NOW_COLUMNS.map((name) => [name, at(name)] as const);
  const ages = moment.ages.map(at);
  const kept: number[] = [];
  const changes = new Map<number, Change>();
  for (let row = 0; row < rows; row += 1) {
    const identity = {
      key: key(row),
      kind: kind(row),
      publisher_id: publisher(row),
      currency: currency(row),
      order_id: order(row),
      product: product(row),
    };
    if (!isOfPart(identity)) continue;
    const before = () => Object.fromEntries([...readers].map(([name, read]) => [name, read(row)]));
    const now = index.match(identity, before);
    if (now === 'later') continue;
    const isGone = gone(row) !== undefined;
    const isSame =
      (now
        ? !isGone && compared.every(([name, read]) => read(row) === now[name])
        : isGone && !moment.drops) && ages.every((read) => read(row) !== undefined);
    if (!isSame) {
      const whole = before();
      const after = rowAfter(whole, now, moment);
      if (!after) continue;
      changes.set(kept.length, { before: whole, after });
    }
    kept.push(row);
  }
  return { kept, changes };
}

function readerOf(column: CodedColumn): (row: number) => Row[string] {
  const values: Row[string][] = [];
  return (row) => {
    const code = column.codes[row] ?? 0;
    return (values[code] ??= valueOfCode(column, code));
  };
}

/** The column of the rows that stay; a value that another row had stays the same code. */
function changedColumn(
  { name, type }: Column,
  column: CodedColumn | undefined,
  kept: readonly number[],
  changes: ReadonlyMap<number, Change>,
): CodedColumn | undefined {
  const codes = Uint32Array.from(kept, (row) => column?.codes[row] ?? 0);
  const first = column ? countOf(column) : 1;
  const added = new Map<Row[string], number>([[undefined, 0]]);
  for (const [place, { before, after }] of changes) {
    const { [name]: value } = after;
    if (value === before[name]) continue;
    const code = added.get(value) ?? first + added.size - 1;
    added.set(value, code);
    codes[place] = code;
  }
  if (added.size === 1) return column && { ...column, codes };
  const held = Array.from({ length: first }, (_, code) => column && valueOfCode(column, code));
  const values = [...held, ...[...added.keys()].slice(1)].map((value) => value ?? undefined);
  return type === 'string' ? { codes, texts: textsOf(values) } : { codes, values };
}
