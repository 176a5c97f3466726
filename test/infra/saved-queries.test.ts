import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, describe, expect, it } from '@jest/globals';
import { query, resultObjects } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { SAVED_QUERIES } from '../../infra/saved-queries.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { reports } from '../../shared/reports/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'brand-reports-queries-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('saved queries', () => {
  const queries = SAVED_QUERIES.map(({ name, sql }) => [name, sql] as const);

  it.each(queries)('run on an empty lake: %s', async (_name, sql) => {
    const { store } = await openLake(folder);
    const connection = await createSqlConnection(
      { store, reports, settings: undefined, nowMs: Date.now() },
      sql,
    );
    const result = await query(connection, sql);
    expect(result.names.length).toBeGreaterThan(1);
    expect(await Array.fromAsync(resultObjects(result))).toEqual([]);
    connection.closeSync();
  });

  it.each(queries.filter(([, sql]) => /dt >= .*INTERVAL/.test(sql)))(
    'begin with the same day as in Trino: %s',
    async (_name, sql) => {
      const [, first = '', days = ''] = /dt >= (CAST\(.*INTERVAL '(\d+)' DAY.*)$/m.exec(sql) ?? [];
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      const expected = `strftime(current_date - ${days}, '%Y-%m-%d')`;
      const read = await connection.runAndReadAll(`SELECT ${first} AS first, ${expected} AS expected`);
      connection.closeSync();
      const [found] = read.getRowObjectsJson();
      expect(found?.first).toBe(found?.expected);
    },
  );
});
