import type { States } from '../../reports/definition.ts';
import { ColumnFacts, fullest } from './column-facts.ts';
import { Digest } from './digest.ts';
import { loadCodedFile } from './load-parquet.ts';
import type { ReadableFile } from './parquet.ts';

/** What is counted of a snapshot while it is written. */
export interface SnapshotContent {
  rows: number;
  bytes: number;
  digest: string;
  filled: Record<string, number>;
  sums: Record<string, string>;
  /** Of a report whose records have a state. */
  unsettled?: number;
}

/**
 * Reads a snapshot whole, and counts again what was counted when it was written. I12: memory holds a row group.
 * @throws where it is no Parquet file of ours, or cannot be read
 */
export async function readContent(file: ReadableFile, states: States | undefined): Promise<SnapshotContent> {
  const { openCodedFile } = await loadCodedFile();
  const opened = await openCodedFile(file);
  const digest = new Digest();
  const facts = new ColumnFacts(opened.columns, states);
  const filled = new Map<string, number>();
  for await (const { rows, columns } of opened.groups()) {
    for (const [name, { codes }] of digest.addColumns(rows, facts.count(rows, columns)))
      filled.set(name, (filled.get(name) ?? 0) + codes.reduce((sum, code) => sum + (code > 0 ? 1 : 0), 0));
  }
  return {
    rows: digest.rows,
    bytes: file.bytes,
    digest: digest.value(),
    filled: fullest(Object.fromEntries(filled)),
    sums: facts.sums,
    ...(facts.unsettled !== undefined && { unsettled: facts.unsettled }),
  };
}
