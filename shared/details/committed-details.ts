import type { JsonObject } from '../json.ts';
import { asBrandReportsError } from '../errors.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { recordsOfRows } from '../lake/table/typed-columns.ts';
import { keyOf } from '../records/record-list.ts';
import type { Lookup } from '../reports/definition.ts';
import type { RunContext } from '../context/context.ts';
import type { OpenDay } from '../context/open-day.ts';

export type CommittedDetails = ReturnType<typeof committedDetails>;

const RECORDS_PER_PAGE = 50;

/**
 * The committed records of a report that looks up another report's records. They are read if the raw records are gone.
 * A missing or damaged snapshot has no records. I12: memory holds the keys and a row group.
 */
export function committedDetails(
  ctx: RunContext,
  { day, committed, keys }: OpenDay,
  { answerField }: Lookup,
) {
  /** @param field the only field to read; missing: all fields */
  async function* records(field?: string): AsyncGenerator<JsonObject> {
    if (!committed || committed.rows === 0) return;
    const { snapshot, bytes } = committed;
    const key = keys.version(snapshot);
    try {
      const { openCodedFile, rowsOf } = await loadCodedFile();
      const opened = await openCodedFile(fileIn(ctx.lake.store, { key, bytes }));
      const columns = opened.columns.filter((column) => field === undefined || column.field === field);
      const recordOf = recordsOfRows(columns);
      const names = columns.map(({ name }) => name);
      for await (const group of opened.groups(names)) for (const row of rowsOf(group)) yield recordOf(row);
    } catch (thrown) {
      const { kind, code, message } = asBrandReportsError(thrown);
      if (kind !== 'bug' && code !== 'object_missing') throw thrown;
      const lost = `${key} cannot be read: ${message}; records in it that the service no longer returns are lost`;
      ctx.log({ event: 'committed_details_unreadable', day, message: lost });
    }
  }
  async function readKeys(): Promise<string[]> {
    const found: string[] = [];
    for await (const record of records(answerField)) found.push(keyOf(record[answerField]) ?? '');
    return found;
  }
  let read: Promise<readonly string[]> | undefined;
  return {
    /** The keys in the records, as the service wrote them. They are read once. */
    keys: () => (read ??= readKeys()),
    /** The records with a wanted key, in pages. Records with the same key are on one page. */
    async *pages(isWanted: (key: string) => boolean): AsyncGenerator<JsonObject[]> {
      let page: JsonObject[] = [];
      let before: string | undefined;
      for await (const record of records()) {
        const key = keyOf(record[answerField]) ?? '';
        if (!isWanted(key)) continue;
        if (page.length >= RECORDS_PER_PAGE && key !== before) {
          yield page;
          page = [];
        }
        page.push(record);
        before = key;
      }
      if (page.length > 0) yield page;
    },
  };
}
