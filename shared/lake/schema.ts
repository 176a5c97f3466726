import * as z from 'zod/mini';
import { DERIVED_COLUMNS, parseColumnType } from '../base/column-types.ts';
import { isDay } from '../base/days.ts';
import type { Json } from '../base/json.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import { schemaKey } from './paths.ts';
import { type TableSchema, baseSchema } from '../table/columns.ts';
import { damagedDocument, parseDocument, storedObject, storedTime } from './cas-document.ts';

const column = storedObject(() => ({
  name: z.string().check(z.regex(/^[a-z0-9_]{1,300}$/)),
  type: z.pipe(
    z.string(),
    z.transform((text, context) => {
      const type = parseColumnType(text);
      if (type) return type;
      const message = `${JSON.stringify(text)} is not a column type`;
      context.issues.push({ code: 'custom', input: text, message });
      return z.NEVER;
    }),
  ),
  field: z.optional(z.string()),
}));

const firstSeen = storedObject(() => ({ day: z.string().check(z.refine(isDay)), at: storedTime }));

const schema = storedObject(() => ({
  table: z.string(),
  columns: z.array(column).check(
    z.refine((columns) => allDiffer(columns.map(({ name }) => name)), { error: 'two columns have one name' }),
    z.refine(
      (columns) =>
        allDiffer(columns.flatMap(({ field, type }) => (field === undefined ? [] : [`${type} of ${field}`]))),
      {
        error: 'two columns of one type hold one field',
      },
    ),
    z.refine((columns) => DERIVED_COLUMNS.every((name) => columns.some((column) => column.name === name)), {
      error: `${DERIVED_COLUMNS.join(' or ')} is missing`,
    }),
  ),
  /** By discovered column: the day in whose records it was first seen, and when that day was read. Never changed. */
  firstSeen: z.optional(z.record(z.string(), firstSeen)),
  /** The names of the keys by which days pair records (`key` in `coverage`). The list only grows. */
  keys: z.optional(z.array(z.string())),
  recentWrites: z.array(z.string()),
}));

/** `schema/<table>.json`: all columns that the table ever had, for all brands. Columns are only appended (I7). */
export type StoredSchema = TableSchema & Omit<z.infer<typeof schema>, 'columns'>;

/** A number that grows whenever views over the table have to be made anew. */
export function sizeOfSchema({ columns, keys = [] }: Pick<StoredSchema, 'columns' | 'keys'>): number {
  return columns.length + keys.length;
}

export type NewColumns = ReadonlyMap<string, readonly { column: string; at: string }[]>;

/** The columns that new fields have brought. A second column of a field, with the type of a setting, is not news. */
export function newColumnsOf({ columns, firstSeen = {} }: StoredSchema): NewColumns {
  const fields = new Set<string | undefined>();
  const ofNewFields = columns.filter(({ field }) => !fields.has(field) && fields.add(field));
  const seen = ofNewFields.flatMap(({ name }) => {
    const first = Object.hasOwn(firstSeen, name) ? firstSeen[name] : undefined;
    return first ? [{ column: name, ...first }] : [];
  });
  return Map.groupBy(seen, ({ day }) => day);
}

/** @throws BrandReportsError `config` if e.g. a type is unknown: writing anyway would give a column two types (I7) */
export function parseStoredSchema({ table, columns }: Pick<ReportDefinition, 'table' | 'columns'>) {
  const key = schemaKey(table);
  return (stored: Json | undefined): StoredSchema => {
    if (stored === undefined) return { table, ...baseSchema(columns), recentWrites: [] };
    const parsed = parseDocument(schema, key, stored);
    if (parsed.table !== table) throw damagedDocument(key, `it is the schema of ${parsed.table}`);
    return parsed;
  };
}

function allDiffer(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}
