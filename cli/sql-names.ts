/**
 * Finds the tables that SQL names, and its conditions on `dt`: through aliases, subqueries and common table expressions, each
 * column is replaced by its expression over one `dt`.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { configError } from '../shared/base/errors.ts';
import { type Json, type JsonObject, isJsonObject, parseJson, stringifyJson } from '../shared/base/json.ts';
import { LEDGER_TABLES, beforeTable } from '../shared/lake/paths.ts';
import { allViews } from '../shared/reports/definition.ts';
import { reports } from '../shared/reports/index.ts';

/** A comparison by the parser's name, or a function that compares texts and its call. */
export interface DayCondition {
  name: string;
  /** Contains `dt` once, or is `DAY`. */
  left: JsonObject;
  /** Without `dt`; missing: `left` is the call. */
  right?: JsonObject;
}

export interface SqlNames {
  /** The number of statements, if all of them are queries; `undefined` if a statement is not a query or cannot be parsed. */
  queries: number | undefined;
  /** Whether the SQL names a table or a table function; `true` in doubt. */
  includes: (name: string) => boolean;
  /** Without the conditions that are not understood. */
  conditions: DayCondition[];
}

interface Column {
  name: string;
  /** What the column may be: its expression over `dt`, or several expressions without `dt`; none: not known. */
  values: readonly JsonObject[];
}

interface Scope {
  /** The common table expressions, by names in lower case. */
  tables: ReadonlyMap<string, readonly Column[]>;
  sources: { name: string; columns: readonly Column[] }[];
  aliases: Column[];
  outer?: Scope;
}

/** A call that runs its text as SQL; the text may be computed. */
const SQL_FUNCTION = 'query';

/** The column `dt` of a table or view of the lake. */
export const DAY: JsonObject = { class: 'COLUMN_REF', type: 'COLUMN_REF', alias: '', column_names: ['dt'] };
const SEVEN = { type: { id: 'INTEGER' }, is_null: false, value: 7 };
/** The column `month` of a view, in SQL that people hardly write, so that messages can name the column. */
const MONTH: JsonObject = {
  ...{ class: 'FUNCTION', type: 'FUNCTION', alias: '', function_name: 'left_grapheme', schema: '' },
  children: [DAY, { class: 'CONSTANT', type: 'VALUE_CONSTANT', value: SEVEN }],
};
const DATED = new Map<string, readonly Column[]>([
  ...Object.values(reports).flatMap(({ table }) =>
    [table, beforeTable(table)].map((name) => [name, datedColumns(['dt'])] as const),
  ),
  ...LEDGER_TABLES.map((name) => [name, datedColumns(['dt', 'month'])] as const),
  ...allViews(reports).map(({ name, columns }) => [name, datedColumns(columns.map(([of]) => of))] as const),
]);
const PATTERNS =
  /^(!?~~~?\*?|(not_)?i?like_escape|regexp_(matches|full_match)|prefix|starts_with|\^@|suffix|ends_with|contains|(list|array)_(has|contains))$/;
/** Functions that return one of their values. */
const IS_CHOICE = /^(min|max|first|last|first_value|last_value|lag|lead|any_value|arbitrary|mode)$/;
/** The parser returns these functions as names of columns. */
const CLOCK = /^(current_(date|time|timestamp)|local(time|timestamp))$/i;
/** Their values depend on more than one row, or are not known here. */
const UNKNOWN = /^(STAR|PARAMETER|WINDOW|LAMBDA|SUBQUERY)$/;

export async function namesIn(connection: DuckDBConnection, sql: string): Promise<SqlNames> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = parsedTree(String(reader.getRows()[0]?.[0]));
  // DuckDB serialises queries only, not COPY or a PIVOT without its values.
  const statements = isJsonObject(parsed) && Array.isArray(parsed.statements) ? parsed.statements : undefined;
  const found = foundIn(statements ?? []);
  for (const text of found.texts) found.conditions.push(...(await namesIn(connection, text)).conditions);
  // SQL that is not parsed here: each of its words may be a name.
  const texts = statements ? found.texts : [sql];
  return {
    queries: statements?.length,
    includes: (name) =>
      found.names.has(name.toLowerCase()) ||
      texts.some((text) => new RegExp(`\\b(${name}|${SQL_FUNCTION})\\b`, 'i').test(text)),
    conditions: found.conditions.filter(
      ({ left, right }) => daysIn(left) === 1 && (!right || !daysIn(right)),
    ),
  };
}

function parsedTree(json: string): Json {
  try {
    return parseJson(json);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw configError('sql_refused', `The SQL is nested too deeply (${why}). Divide it by WITH.`);
  }
}

function foundIn(statements: Json[]) {
  const names = new Set<string>();
  const texts: string[] = [];
  const conditions: DayCondition[] = [];
  const visited = new Map<JsonObject, Column[]>();
  visit(statements, { tables: new Map(), sources: [], aliases: [] });
  return { names, texts, conditions };

  function visit(node: Json | undefined, scope: Scope): void {
    if (Array.isArray(node)) for (const each of node) visit(each, scope);
    if (!isJsonObject(node)) return;
    if (textOf(node.type).endsWith('_NODE')) return void columnsOf(node, scope);
    if (node.type === 'TABLE_FUNCTION') visitFunction(node.function);
    compare(node, scope);
    for (const child of Object.values(node)) visit(child, scope);
  }

  /** @param query a node, or a statement or a subquery that has the node */
  function columnsOf(query: Json | undefined, outer: Scope): readonly Column[] {
    if (!isJsonObject(query)) return [];
    if (query.node !== undefined) return columnsOf(query.node, outer);
    const known = visited.get(query);
    if (known) return known;
    const tables = new Map(outer.tables);
    const scope: Scope = { tables, sources: [], aliases: [], outer };
    const { cte_map: expressions, from_table: from, select_list: selected, left, right, ...rest } = query;
    for (const { key, value } of objectsIn(isJsonObject(expressions) ? expressions.map : undefined))
      if (isJsonObject(value))
        tables.set(textOf(key).toLowerCase(), renamed(columnsOf(value.query, scope), value.aliases));
    const first = renamed(columnsOf(left, scope), rest.aliases);
    if (rest.cte_name) tables.set(textOf(rest.cte_name).toLowerCase(), first);
    const second = columnsOf(right, scope);
    scope.aliases = first.map((column, index) => {
      const other = second.find(({ name }) => isSame(name, column.name)) ?? second[index];
      return { ...column, values: both(column.values, other?.values ?? []) };
    });
    readFrom(from, scope);
    for (const each of objectsIn(selected)) scope.aliases.push(...selectedColumns(each, scope));
    visited.set(query, scope.aliases);
    visit([selected ?? null, ...Object.values(rest)], scope);
    return scope.aliases;
  }

  function readFrom(from: Json | undefined, scope: Scope): void {
    if (!isJsonObject(from)) return;
    const { type, table_name: table, alias, column_name_alias: given, left, right, source, ...rest } = from;
    const [ofLeft = [], ofRight = []] = [left, right, source].map((each) => {
      const before = scope.sources.length;
      readFrom(each, scope);
      return scope.sources.slice(before).flatMap(({ columns }) => columns);
    });
    const shared = Array.isArray(rest.using_columns) ? rest.using_columns.map(textOf) : [];
    for (const { name, values } of ofLeft)
      if (rest.ref_type === 'NATURAL' || shared.some((each) => isSame(each, name)))
        for (const other of ofRight)
          if (isSame(other.name, name)) pair('COMPARE_EQUAL', values, other.values);
    const name = textOf(table).toLowerCase();
    const expression = scope.tables.get(name);
    if (type === 'BASE_TABLE' && !expression) names.add(name);
    // A view of the lake has more columns than `dt`, so that the place of `dt` is not known.
    const isRenamed = textOf(Array.isArray(given) ? given[0] : '') !== '';
    const dated = type === 'BASE_TABLE' && !isRenamed ? DATED.get(name) : undefined;
    const own = expression ?? dated ?? columnsOf(rest.subquery, scope);
    const rows = Array.isArray(rest.values) ? rest.values.map(objectsIn) : [];
    const listed = (rows[0] ?? []).map((_, index) => ({
      name: `col${index}`,
      values: rows.map((row) => valuesOf(row[index], scope)).reduce(both),
    }));
    const called = type === 'TABLE_FUNCTION' ? [{ name: '', values: valuesOf(rest.function, scope) }] : [];
    scope.sources.push({
      name: textOf(alias) || name,
      columns: renamed([...own, ...listed, ...called], given),
    });
    visit({ ...rest, type: type ?? null }, scope);
  }

  function selectedColumns(expression: JsonObject, scope: Scope): Column[] {
    const { type, alias, relation_name: of, ...lists } = expression;
    if (type !== 'STAR')
      return [
        { name: textOf(alias) || (namesOf(expression).at(-1) ?? ''), values: valuesOf(expression, scope) },
      ];
    // EXCLUDE, REPLACE and RENAME name the columns that they change.
    const changed = stringifyJson(lists).toLowerCase();
    return scope.sources
      .filter(({ name }) => !textOf(of) || isSame(name, textOf(of)))
      .flatMap(({ columns }) => columns)
      .filter(({ name }) => !changed.includes(JSON.stringify(name.toLowerCase())));
  }

  /** The expression with the values of its columns, in each way that is known. */
  function valuesOf(expression: Json | undefined, scope: Scope): readonly JsonObject[] {
    if (!isJsonObject(expression)) return [];
    const { class: kind, type, children, child, function_name: called, cast_type: cast } = expression;
    if (type === 'COLUMN_REF') return lookUp(namesOf(expression), scope);
    if (expression.subquery_type === 'SCALAR') return columnsOf(expression.subquery, scope)[0]?.values ?? [];
    const [only, ...others] = objectsIn(children);
    // The text of a day, and the least of some days, are days, too.
    const isText = kind === 'COLLATE' || (isJsonObject(cast) && cast.id === 'VARCHAR');
    const inner = isText ? child : IS_CHOICE.test(textOf(called)) && others.length === 0 && only;
    const values = inner ? valuesOf(inner, scope) : [];
    if (values.includes(DAY)) return values;
    const replaced = replacedIn(expression, scope);
    return isJsonObject(replaced) ? [replaced] : [];
  }

  function replacedIn(node: Json, scope: Scope): Json | undefined {
    if (Array.isArray(node)) {
      const replaced = node.flatMap((each) => replacedIn(each, scope) ?? []);
      return replaced.length === node.length ? replaced : undefined;
    }
    if (!isJsonObject(node)) return node;
    if (UNKNOWN.test(textOf(node.class))) return undefined;
    if (node.type === 'COLUMN_REF') {
      const [value, ...others] = lookUp(namesOf(node), scope);
      // Expressions in expressions could double at each step.
      const isSimple = /^(COLUMN_REF|VALUE_CONSTANT)$/.test(textOf(value?.type)) || value === MONTH;
      return others.length === 0 && isSimple ? value : undefined;
    }
    const replaced: JsonObject = {};
    for (const [key, value] of Object.entries(node)) {
      const own = replacedIn(value, scope);
      if (own === undefined) return undefined;
      replaced[key] = own;
    }
    return replaced;
  }

  function lookUp(names: readonly string[], { sources, aliases, outer }: Scope): readonly JsonObject[] {
    const [name = '', of] = names.toReversed();
    const own = sources.filter((source) => of === undefined || isSame(source.name, of));
    if (own.length === 0 && of !== undefined) return outer ? lookUp(names, outer) : [];
    // A name without a table may be of any table here, whose columns are not all known: it is not searched further.
    const columns = [...own.flatMap((source) => source.columns), ...(of === undefined ? aliases : [])];
    const found = columns.find((column) => isSame(column.name, name));
    return found?.values ?? (of === undefined && CLOCK.test(name) ? [{ ...DAY, column_names: [name] }] : []);
  }

  function compare(node: JsonObject, scope: Scope): void {
    const { class: kind, type, children, input, function_name: called } = node;
    const [first, ...others] = objectsIn(children);
    if (kind === 'COMPARISON') add(type, node.left, node.right, scope);
    if (kind === 'BETWEEN') {
      add('COMPARE_GREATERTHANOREQUALTO', input, node.lower, scope);
      add('COMPARE_LESSTHANOREQUALTO', input, node.upper, scope);
    }
    if (type === 'COMPARE_IN' || type === 'COMPARE_NOT_IN')
      for (const other of others) add(type, first, other, scope);
    if (node.subquery_type === 'ANY')
      for (const value of columnsOf(node.subquery, scope)[0]?.values ?? [])
        add(node.comparison_type, node.child, value, scope);
    if (kind !== 'FUNCTION' || !PATTERNS.test(textOf(called))) return;
    if (first?.function_name === 'list_value')
      for (const each of objectsIn(first.children)) add('COMPARE_IN', others[0], each, scope);
    else for (const left of valuesOf(node, scope)) conditions.push({ name: textOf(called), left });
  }

  function add(type: Json | undefined, left: Json | undefined, right: Json | undefined, scope: Scope): void {
    const name = textOf(type);
    const [own = [], other = []] = [left, right].map((side) =>
      isJsonObject(side) && side.function_name === 'row' ? objectsIn(side.children) : [],
    );
    for (const [index, each] of own.entries()) add(name, each, other[index], scope);
    pair(name, valuesOf(left, scope), valuesOf(right, scope));
  }

  function pair(name: string, lefts: readonly JsonObject[], rights: readonly JsonObject[]): void {
    for (const value of lefts)
      for (const against of rights)
        conditions.push(
          daysIn(against) === 0
            ? { name, left: value, right: against }
            : { name: flipped(name), left: against, right: value },
        );
  }

  /** `query('FROM orders')` and `query_table('orders')` name tables in their arguments. */
  function visitFunction(called: Json | undefined): void {
    if (!isJsonObject(called)) return;
    const { function_name: name, children = null } = called;
    names.add(textOf(name).toLowerCase());
    const [argument] = objectsIn(children);
    const isConstant = argument?.type === 'VALUE_CONSTANT';
    // The value of an expression is unknown here: it may be any name.
    if (name === SQL_FUNCTION && !isConstant) texts.push(SQL_FUNCTION);
    if (name === SQL_FUNCTION || name === 'query_table') texts.push(...constantsIn(children));
  }
}

function datedColumns(names: readonly string[]): Column[] {
  const days = [
    { name: 'dt', values: [DAY] },
    { name: 'month', values: [MONTH] },
  ];
  return days.filter(({ name }) => names.includes(name));
}

/** The comparison with its sides exchanged. */
function flipped(name: string): string {
  return name.replace(/LESS|GREATER/, (word) => (word === 'LESS' ? 'GREATER' : 'LESS'));
}

/** How a column is read whose rows come from two places. */
function both(one: readonly JsonObject[], other: readonly JsonObject[]): readonly JsonObject[] {
  const all = [...one, ...other];
  if (one.length === 0 || other.length === 0) return [];
  if (all.every((value) => value === DAY)) return [DAY];
  return all.some(daysIn) ? [] : all;
}

/** How often an expression contains `dt`. */
function daysIn(node: Json): number {
  if (node === null || typeof node !== 'object') return 0;
  return node === DAY ? 1 : Object.values(node).reduce<number>((sum, each) => sum + daysIn(each), 0);
}

function renamed(columns: readonly Column[], given: Json | undefined): Column[] {
  const names = Array.isArray(given) ? given : [];
  return columns.map((column, index) => ({ ...column, name: textOf(names[index]) || column.name }));
}

function namesOf({ column_names: names }: JsonObject): string[] {
  return Array.isArray(names) ? names.map(textOf) : [];
}

function textOf(node: Json | undefined): string {
  return typeof node === 'string' ? node : '';
}

function objectsIn(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function constantsIn(node: Json): string[] {
  if (Array.isArray(node)) return node.flatMap(constantsIn);
  if (!isJsonObject(node)) return [];
  const { type, value } = node;
  return type === 'VALUE_CONSTANT' ? textsIn(value ?? null) : Object.values(node).flatMap(constantsIn);
}

function textsIn(node: Json): string[] {
  if (typeof node === 'string') return [node];
  return node !== null && typeof node === 'object' ? Object.values(node).flatMap(textsIn) : [];
}
