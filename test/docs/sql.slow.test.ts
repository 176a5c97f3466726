/** Every query that a page prints runs in DuckDB on a sample lake, by the code of `brand-reports query`; and the page of the tables shows this lake. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW_MS, writeReferenceLake } from '../../bench/reference/sample.ts';
import { FIXED_TABLES, tablesPage } from '../../bench/reference/tables.ts';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { CHANGE_COLUMNS } from '../../shared/history/index.ts';
import { reports } from '../../shared/reports/index.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { commandsIn } from './commands.ts';
import { blocksOf, pages, sectionOf, textOf } from './pages.ts';

/** Other engines and other files than the lake's. */
const ELSEWHERE = /\b(iceberg_scan|read_parquet|INSTALL|LOAD|SET|ATTACH|CREATE|FOR TIMESTAMP AS OF)\b/;

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: string;

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = join(temporary.path, 'lake');
  await writeReferenceLake(lake);
});
afterAll(() => temporary.remove());

/** The statements of the blocks `sql` and `sql duckdb`, and the SQL of `brand-reports query`. */
function statementsOf(page: string): string[] {
  const blocks = blocksOf(page, 'sql').filter(({ mark }) => mark === 'sql' || mark === 'sql duckdb');
  const inCommands = blocksOf(page, 'sh')
    .flatMap(({ text }) => commandsIn(text, 'brand-reports'))
    .filter(([command, ...words]) => command === 'query' && !words.includes('--csv'))
    .flatMap((words) => words.filter((word) => /^(SELECT|FROM|WITH|SHOW|DESCRIBE)\b/.test(word)));
  return [...blocks.flatMap(({ text }) => text.split(/;\s*(?=\n|$)/)), ...inCommands]
    .map((sql) => sql.trim())
    .filter((sql) => sql !== '' && !ELSEWHERE.test(sql));
}

/** A session with the tables that the SQL names, as `brand-reports query` opens it. */
const sessionFor = (sql: string) =>
  createSqlConnection(
    { store: openLocalStore(lake), reports, settings: undefined, nowMs: NOW_MS, onGap: () => {} },
    sql,
  );

async function errorsOf(statements: readonly string[]): Promise<string[]> {
  const session = await sessionFor(statements.join(';\n'));
  const errors: string[] = [];
  for (const sql of statements)
    await query(session, sql)
      .then((result) => Array.fromAsync(resultObjects(result)))
      .catch((thrown: unknown) => errors.push(`${sql}: ${thrown}`));
  session.closeSync();
  return errors;
}

describe('the SQL of the pages', () => {
  it('is met at all, and a wrong column is an error', async () => {
    expect(pages.flatMap(statementsOf).length).toBeGreaterThan(30);
    expect(await errorsOf(['SELECT no_such_column FROM orders'])).toEqual([
      expect.stringContaining('no_such_column'),
    ]);
  });

  it.each(pages.filter((page) => statementsOf(page).length > 0))('of %s runs', async (page) => {
    expect(await errorsOf(statementsOf(page))).toEqual([]);
  });
});

describe('docs/reference/tables.md', () => {
  const page = textOf('docs/reference/tables.md');

  it('is what npm run reference writes', async () => {
    expect(await tablesPage(page, lake)).toBe(page);
    for (const { name } of CHANGE_COLUMNS)
      expect(sectionOf(page, 'Earlier records')).toContain(`\`${name}\``);
  });

  it.each(FIXED_TABLES.map(({ name }) => name))(
    'names columns of %s that have a value in every row',
    async (name) => {
      const rows = sectionOf(page, name).matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \| no \|/gm);
      const names = [...rows].map(([, column = '']) => column);
      expect(names).not.toEqual([]);
      const counts = names
        .map((column) => `CAST(count(*) - count("${column}") AS varchar) AS "${column}"`)
        .join(', ');
      const sql = `SELECT ${counts} FROM ${name} HAVING count(*) > 0`;
      const session = await sessionFor(sql);
      const [nulls] = await Array.fromAsync(resultObjects(await query(session, sql)));
      session.closeSync();
      expect(nulls).toEqual(Object.fromEntries(names.map((column) => [column, '0'])));
    },
  );
});
