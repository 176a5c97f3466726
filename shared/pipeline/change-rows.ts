/*
 * The rows of the table `changes`: what happened to a closed day since it was closed first. A change is one row that says
 * how many records it added, removed and altered, one for the sum of each numeric column, and one for each record, or
 * each altered value, where they are few enough to be listed.
 */
import * as z from 'zod/mini';
import type { Column } from '../column-types.ts';
import type { DayChanges } from '../lake/documents/ledger.ts';
import { CHANGES_PARTITION_KEYS, CHANGES_TABLE } from '../lake/paths.ts';
import type { Row } from '../lake/table/columns.ts';
import type { AlteredColumn, ChangedRecord, TableDiff } from '../lake/table/diff.ts';
import type { TableShape } from '../ports.ts';

const COLUMNS: readonly Column[] = [
  { name: 'change_id', type: 'string' },
  { name: 'previous_id', type: 'string' },
  { name: 'changed_at', type: 'timestamp' },
  { name: 'cause', type: 'string' },
  { name: 'what', type: 'string' },
  { name: 'rows_before', type: 'bigint' },
  { name: 'rows_after', type: 'bigint' },
  { name: 'added', type: 'bigint' },
  { name: 'removed', type: 'bigint' },
  { name: 'altered', type: 'bigint' },
  { name: 'listed', type: 'boolean' },
  { name: 'key', type: 'string' },
  { name: 'copies', type: 'bigint' },
  { name: 'column_name', type: 'string' },
  { name: 'old_value', type: 'string' },
  { name: 'new_value', type: 'string' },
  { name: 'record', type: 'string' },
];

export const changesTable: TableShape = {
  name: CHANGES_TABLE,
  description: 'What later readings changed on a day after it was first closed: a row for each changed field',
  partitionKeys: CHANGES_PARTITION_KEYS,
  columns: COLUMNS,
};

/** What replaced a version of a closed day: another reading of it, an older snapshot, or one that was built again. */
export type ChangeCause = (typeof CAUSES)[number];
const CAUSES = ['reading', 'rollback', 'rebuild'] as const;

/** One version of a day replaced by another. */
export interface Change {
  /** The snapshots. */
  id: string;
  previousId: string;
  at: Date;
  cause: ChangeCause;
  rowsBefore: number;
  rowsAfter: number;
  /** By numeric column, as text. */
  sumsBefore: Readonly<Record<string, string>>;
  sumsAfter: Readonly<Record<string, string>>;
  /** Missing where a version could not be read. */
  diff: TableDiff | undefined;
}

/** What the ledger says of the newest change. */
export function summaryOf({ at, rowsBefore, diff }: Change): DayChanges['last'] {
  const counts = diff && { added: diff.added, removed: diff.removed, altered: diff.altered };
  return { at: at.toISOString(), rowsBefore, ...counts };
}

/** The rows of a change, in the columns of `changesTable`; the one that sums it up is the first. */
export function* changeRows({ diff, ...change }: Change): Generator<Row, void, undefined> {
  const common = {
    change_id: change.id,
    previous_id: change.previousId,
    changed_at: change.at,
    cause: change.cause,
  };
  yield {
    ...common,
    what: 'day',
    rows_before: BigInt(change.rowsBefore),
    rows_after: BigInt(change.rowsAfter),
    added: diff && BigInt(diff.added),
    removed: diff && BigInt(diff.removed),
    altered: diff && BigInt(diff.altered),
    listed: diff?.records !== undefined,
  };
  const { sumsBefore, sumsAfter } = change;
  for (const column of new Set([...Object.keys(sumsBefore), ...Object.keys(sumsAfter)]))
    yield {
      ...common,
      what: 'sum',
      column_name: column,
      old_value: sumsBefore[column],
      new_value: sumsAfter[column],
    };
  for (const record of diff?.records ?? [])
    for (const row of recordRows(record)) yield { ...common, what: record.what, ...row };
}

function recordRows(record: ChangedRecord): Row[] {
  if (record.what === 'altered')
    return record.columns.map(({ name, before, after }) => ({
      key: record.key,
      column_name: name,
      old_value: before,
      new_value: after,
    }));
  return [{ key: record.key, copies: BigInt(record.copies), record: JSON.stringify(record.record) }];
}

/** A row as it is stored; built when the first one is read, as the schemas of documents are. */
const storedRow = z.lazy(() => {
  const text = z.string();
  const count = z.pipe(
    z.bigint(),
    z.transform((held) => Number(held)),
  );
  const none = z.optional(z.null());
  const ofChange = { change_id: text, previous_id: text, changed_at: z.date(), cause: z.enum(CAUSES) };
  const record = z.pipe(
    z.string(),
    z.transform((json) => z.parse(z.record(z.string(), z.string()), JSON.parse(json))),
  );
  return z.discriminatedUnion('what', [
    z.object({
      what: z.literal('day'),
      ...ofChange,
      rows_before: count,
      rows_after: count,
      added: z.union([count, none]),
      removed: z.union([count, none]),
      altered: z.union([count, none]),
      listed: z.boolean(),
    }),
    z.object({
      what: z.literal('sum'),
      column_name: text,
      old_value: z.nullish(text),
      new_value: z.nullish(text),
    }),
    z.object({ what: z.enum(['added', 'removed']), key: z.nullish(text), copies: count, record }),
    z.object({
      what: z.literal('altered'),
      key: text,
      column_name: text,
      old_value: z.nullish(text),
      new_value: z.nullish(text),
    }),
  ]);
});

/**
 * What rows of the table say: the inverse of `changeRows`, for those of several changes one behind the other.
 * @throws where a row is none that `changeRows` makes
 */
export function changesOfRows(rows: readonly Row[]): Change[] {
  const parsed = rows.map((row) => z.parse(storedRow, row));
  const starts = parsed.flatMap((row, index) => (row.what === 'day' ? [{ row, index }] : []));
  if (parsed.length > 0 && starts[0]?.index !== 0) throw new Error('the rows do not begin with a change');
  return starts.map(({ row, index }, place) => {
    const facts = parsed.slice(index + 1, starts[place + 1]?.index);
    const { added, removed, altered } = row;
    const counts = typeof added === 'number' && typeof removed === 'number' && typeof altered === 'number';
    return {
      id: row.change_id,
      previousId: row.previous_id,
      at: row.changed_at,
      cause: row.cause,
      rowsBefore: row.rows_before,
      rowsAfter: row.rows_after,
      sumsBefore: sumsOf(facts, 'old_value'),
      sumsAfter: sumsOf(facts, 'new_value'),
      diff: counts
        ? { added, removed, altered, ...(row.listed && { records: recordsOf(facts) }) }
        : undefined,
    };
  });
}

type Fact = z.infer<typeof storedRow>;

function sumsOf(facts: readonly Fact[], value: 'old_value' | 'new_value'): Record<string, string> {
  return Object.fromEntries(
    facts.flatMap((fact) => {
      const sum = fact.what === 'sum' ? fact[value] : undefined;
      return fact.what === 'sum' && typeof sum === 'string' ? [[fact.column_name, sum]] : [];
    }),
  );
}

function recordsOf(facts: readonly Fact[]): ChangedRecord[] {
  const records: ChangedRecord[] = [];
  const altered = new Map<string, AlteredColumn[]>();
  for (const fact of facts) {
    if (fact.what === 'added' || fact.what === 'removed') {
      const { what, key, copies } = fact;
      records.push({ what, key: key ?? undefined, copies, record: fact.record });
    } else if (fact.what === 'altered') {
      const column = {
        name: fact.column_name,
        before: fact.old_value ?? null,
        after: fact.new_value ?? null,
      };
      const columns = altered.get(fact.key);
      if (columns) {
        columns.push(column);
      } else {
        const first = [column];
        altered.set(fact.key, first);
        records.push({ what: 'altered', key: fact.key, columns: first });
      }
    }
  }
  return records;
}
