/**
 * Finds the conditions on `dt` in SQL, by DuckDB's plan before it is optimized: its operators have their columns by position, so that
 * aliases, subqueries and common table expressions are resolved. Each column is replaced by SQL over one `dt`.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type Json, type JsonObject, isJsonObject, parseJson, stringifyJson } from '../shared/base/json.ts';
import { LEDGER_TABLES, beforeTable } from '../shared/lake/paths.ts';
import { allViews } from '../shared/reports/definition.ts';
import { reports } from '../shared/reports/index.ts';
import { identifier, literal } from './sql-files.ts';

/** A comparison by the parser's name, or a function that compares texts and its call. */
export interface DayCondition {
  name: string;
  /** SQL that contains `dt` once, or `month`. */
  left: string;
  /** SQL without `dt`; missing: `left` is the call. */
  right?: string;
}

/** SQL, and how often it contains `dt`. */
interface Value {
  sql: string;
  days: number;
}

/** What the column may be; none: not known. */
type Column = readonly Value[];

export const DAY = 'dt';
/** The column `month` of a view, in SQL that people hardly write, so that messages can name the column. */
export const MONTH = 'left_grapheme(dt, 7)';
/** The values of a column that is not the lake's, such as a column of `--csv`. */
export const OF_FILE = 'unnest((SELECT list(DISTINCT ';
const TABLES = Object.values(reports).flatMap(({ table }) => [table, beforeTable(table)]);
const WITH_MONTH = [...LEDGER_TABLES, ...allViews(reports).map(({ name }) => name)];
const PATTERNS =
  /^(!?~~~?\*?|(not_)?i?like_escape|regexp_(matches|full_match)|prefix|starts_with|\^@|suffix|ends_with|contains|(list|array)_(has|contains))$/;
/** Functions that return one of their values. */
const IS_CHOICE = /^(min|max|first|last|first_value|last_value|lag|lead|any_value|arbitrary|mode)$/;
const EMPTY_IS_NULL = /"value":"".*"is_null":true/;
const JOIN = /_JOIN$|_PRODUCT$/;
const SHAPES = 'brand_reports_shapes';
/** Expressions in expressions could double at each step. */
const MAX_SQL = 1_000;

/** @param sql one query over the relations of the session */
export async function dayConditions(session: DuckDBConnection, sql: string): Promise<DayCondition[]> {
  const found =
    await session.runAndReadAll(`SELECT table_name, list({name: column_name, type: data_type} ORDER BY column_index)
    FROM duckdb_columns() WHERE NOT internal GROUP BY ALL`);
  // Empty tables take the place of the views, whose own conditions are right.
  await session.run(`ATTACH ':memory:' AS ${SHAPES}; USE ${SHAPES}`);
  try {
    const tables = found.getRowsJson().map(([table, columns]) => {
      const defined = objectsIn(columns).map(
        ({ name, type }) => `${identifier(textOf(name))} ${textOf(type)}`,
      );
      return `CREATE TABLE ${identifier(textOf(table))} (${defined.join(', ')})`;
    });
    await session.run(tables.join('; '));
    const planned = await session.runAndReadAll(`SELECT json_serialize_plan(${literal(sql)})`);
    const plan = parseJson(String(planned.getRows()[0]?.[0]));
    return isJsonObject(plan) ? objectsIn(plan.plans).flatMap(conditionsIn) : [];
  } finally {
    await session.run(`USE memory; DETACH ${SHAPES}`);
  }
}

function conditionsIn(plan: JsonObject): DayCondition[] {
  const conditions: DayCondition[] = [];
  const expressions = new Map<Json | undefined, readonly Column[]>();
  columnsOf(plan, []);
  return conditions;

  /** @param outer the columns of the outer query that a correlated subquery reads */
  function columnsOf(operator: JsonObject, outer: readonly Column[]): readonly Column[] {
    const { type, children, conditions: compared, ...rest } = operator;
    const [first, second] = objectsIn(children);
    const left = first ? columnsOf(first, outer) : [];
    const eliminated = objectsIn(rest.duplicate_eliminated_columns);
    const inner = eliminated.length > 0 ? eliminated.map((each) => valuesOf(each, left)) : outer;
    if (/_CTE$/.test(textOf(type))) expressions.set(rest.table_index, left);
    const right = second ? columnsOf(second, inner) : [];
    const isJoin = JOIN.test(textOf(type));
    visit(rest, isJoin ? [...left, ...right] : left);
    for (const each of objectsIn(compared)) {
      visit(each.left, left);
      visit(each.right, right);
      pair(textOf(each.comparison), valuesOf(each.left, left), valuesOf(each.right, right));
    }
    if (isJoin) return /SEMI|ANTI|MARK/.test(textOf(rest.join_type)) ? left : [...left, ...right];
    const own = [...objectsIn(rest.groups), ...objectsIn(rest.expressions)].map((each) =>
      valuesOf(each, left),
    );
    const rows = Array.isArray(rest.expressions) ? rest.expressions.map(objectsIn) : [];
    switch (textOf(type).replace('LOGICAL_', '')) {
      case 'GET':
        return columnsOfTable(rest);
      case 'DUMMY_SCAN':
        return [[]];
      case 'DELIM_GET':
        return outer;
      case 'CTE_REF':
        return expressions.get(rest.cte_index) ?? [];
      case 'EXPRESSION_GET':
        return (rows[0] ?? []).map((_, index) => rows.map((row) => valuesOf(row[index], [])).reduce(both));
      case 'PROJECTION':
      case 'AGGREGATE_AND_GROUP_BY':
        return own;
      case 'WINDOW':
      case 'UNNEST':
        return [...left, ...own];
      case 'UNION':
        return left.map((column, index) => both(column, right[index] ?? []));
      case 'MATERIALIZED_CTE':
        return right;
      default:
        return left;
    }
  }

  function visit(node: Json | undefined, columns: readonly Column[]): void {
    if (Array.isArray(node)) for (const each of node) visit(each, columns);
    // `nullif(dt, '')` compares without selecting days.
    if (!isJsonObject(node) || ('then_expr' in node && EMPTY_IS_NULL.test(stringifyJson(node)))) return;
    compare(node, columns);
    for (const child of Object.values(node)) visit(child, columns);
  }

  function compare(node: JsonObject, columns: readonly Column[]): void {
    const { expression_class: kind, type, children, input, name } = node;
    const [first, ...others] = objectsIn(children);
    if (kind === 'BOUND_COMPARISON') add(textOf(type), node.left, node.right, columns);
    if (kind === 'BOUND_BETWEEN') {
      add('COMPARE_GREATERTHANOREQUALTO', input, node.lower, columns);
      add('COMPARE_LESSTHANOREQUALTO', input, node.upper, columns);
    }
    if (type === 'COMPARE_IN' || type === 'COMPARE_NOT_IN')
      for (const other of others) add(type, first, other, columns);
    if (kind !== 'BOUND_FUNCTION' || !PATTERNS.test(textOf(name))) return;
    if (first?.name === 'list_value')
      for (const each of objectsIn(first.children)) add('COMPARE_IN', others[0], each, columns);
    else
      for (const { sql, days } of valuesOf(node, columns))
        if (days === 1) conditions.push({ name: textOf(name), left: sql });
  }

  function add(
    name: string,
    left: Json | undefined,
    right: Json | undefined,
    columns: readonly Column[],
  ): void {
    const [own = [], other = []] = [left, right].map((side) =>
      isJsonObject(side) && side.name === 'row' ? objectsIn(side.children) : [],
    );
    for (const [index, each] of own.entries()) add(name, each, other[index], columns);
    if (isText(left) || isText(right)) pair(name, valuesOf(left, columns), valuesOf(right, columns));
  }

  function pair(name: string, lefts: Column, rights: Column): void {
    for (const one of lefts)
      for (const other of rights)
        if (one.days + other.days === 1)
          conditions.push(
            one.days === 1
              ? { name, left: one.sql, right: other.sql }
              : { name: flipped(name), left: other.sql, right: one.sql },
          );
  }
}

function columnsOfTable({ names, column_indexes: indexes, function_data: data }: JsonObject): Column[] {
  const table = isJsonObject(data) ? textOf(data.table) : '';
  const hasMonth = WITH_MONTH.includes(table);
  return objectsIn(indexes).map(({ index }) => {
    const name = Array.isArray(names) && typeof index === 'number' ? textOf(names[index]) : '';
    if (hasMonth && name === 'month') return [{ sql: MONTH, days: 1 }];
    if (hasMonth || TABLES.includes(table)) return name === 'dt' ? [{ sql: DAY, days: 1 }] : [];
    return table && name
      ? [{ sql: `${OF_FILE}${identifier(name)}) FROM ${identifier(table)}))`, days: 0 }]
      : [];
  });
}

/** The expression as SQL, in each way that is known. */
function valuesOf(expression: Json | undefined, columns: readonly Column[]): Column {
  if (!isJsonObject(expression)) return [];
  const { expression_class: kind, type, child, return_type: of } = expression;
  const result = isJsonObject(of) ? textOf(of.id) : '';
  const name = type === 'OPERATOR_COALESCE' ? 'coalesce' : textOf(expression.name);
  const children = objectsIn(expression.children);
  const call = (parts: readonly JsonObject[], sqlOf: (sqls: readonly string[]) => string): Column => {
    const own = parts.flatMap((part) => {
      const [value, ...others] = valuesOf(part, columns);
      return value && others.length === 0 ? [value] : [];
    });
    const sql = sqlOf(own.map((value) => value.sql));
    if (own.length < parts.length || sql.length > MAX_SQL) return [];
    return [{ sql, days: own.reduce((sum, { days }) => sum + days, 0) }];
  };
  if (kind === 'BOUND_REF') return columns[Number(expression.index)] ?? [];
  if (kind === 'BOUND_CONSTANT') return constant(expression.value);
  if (kind === 'BOUND_CAST' && isJsonObject(child)) {
    const values = valuesOf(child, columns);
    // The text of a day is a day.
    const isSame = result === 'VARCHAR' && (isText(child) || values.every(({ sql }) => sql === DAY));
    if (isSame || (child.expression_class === 'BOUND_CONSTANT' && /INT/.test(result))) return values;
    const cast = expression.try_cast === true ? 'TRY_CAST' : 'CAST';
    return isJsonObject(of) && of.type_info ? [] : call([child], ([sql]) => `${cast}(${sql} AS ${result})`);
  }
  if (kind === 'BOUND_UNNEST') return call(objectsIn([child]), ([sql]) => `unnest(${sql})`);
  if (kind === 'BOUND_CASE') {
    const results = [
      ...objectsIn(expression.case_checks).map((each) => each.then_expr),
      expression.else_expr,
    ];
    // A scalar subquery fails if it has several rows.
    const possible = objectsIn(results).filter((each) => !stringifyJson(each).includes('"name":"error"'));
    return possible.map((each) => valuesOf(each, columns)).reduce(both);
  }
  if (kind === 'BOUND_AGGREGATE' || kind === 'BOUND_WINDOW') {
    const chosen = name || textOf(type).replace('WINDOW_', '').toLowerCase();
    return IS_CHOICE.test(chosen) ? valuesOf(children[0], columns) : [];
  }
  if (name === '') return [];
  if (children.length === 2 && /^\W+$/.test(name))
    return call(children, (sqls) => `(${sqls.join(` ${name} `)})`);
  return call(children, (sqls) => `${/^\w+$/.test(name) ? name : identifier(name)}(${sqls.join(', ')})`);
}

function constant(value: Json | undefined): Column {
  if (!isJsonObject(value) || value.is_null === true) return [];
  if (typeof value.value === 'number') return [{ sql: String(value.value), days: 0 }];
  return isText({ return_type: value.type ?? null }) ? [{ sql: literal(textOf(value.value)), days: 0 }] : [];
}

/** How a column is read whose rows come from two places. */
function both(one: Column, other: Column): Column {
  const all = [...one, ...other];
  if (one.length === 0 || other.length === 0) return [];
  if (all.every(({ sql }) => sql === DAY)) return one;
  return all.some(({ days }) => days > 0) ? [] : all;
}

/** The comparison with its sides exchanged. */
function flipped(name: string): string {
  return name.replace(/LESS|GREATER/, (word) => (word === 'LESS' ? 'GREATER' : 'LESS'));
}

function isText(expression: Json | undefined): boolean {
  if (!isJsonObject(expression)) return false;
  const { return_type: type, value } = expression;
  const of = type ?? (isJsonObject(value) ? value.type : undefined);
  return isJsonObject(of) && of.id === 'VARCHAR';
}

function textOf(node: Json | undefined): string {
  return typeof node === 'string' ? node : '';
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
