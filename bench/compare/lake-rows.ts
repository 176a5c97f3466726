import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

export interface LakeRows {
  rows: number;
  /** The number of different values of `transaction_id`, which no two records share. */
  distinct: number;
}

/** Counts the rows that any reader of these files finds now. @returns `unreadable` if one of the files is no Parquet */
export async function readRows(folder: string, glob: string): Promise<LakeRows | 'unreadable'> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const files = `'${join(folder, glob)}'`;
    const found = await connection.runAndReadAll(`SELECT count(*) FROM glob(${files})`);
    if (Number(found.getRows()[0]?.[0]) === 0) return { rows: 0, distinct: 0 };
    const counted = await connection.runAndReadAll(
      `SELECT count(*), count(DISTINCT transaction_id) FROM read_parquet(${files}, union_by_name = true)`,
    );
    const [rows, distinct] = counted.getRows()[0] ?? [];
    return { rows: Number(rows), distinct: Number(distinct) };
  } catch {
    return 'unreadable';
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** @throws Error if a file is no Parquet */
export async function countRows(folder: string, glob: string): Promise<LakeRows> {
  const found = await readRows(folder, glob);
  if (found === 'unreadable') throw new Error(`files of ${join(folder, glob)} are no Parquet`);
  return found;
}
