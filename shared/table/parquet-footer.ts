import { type FileMetaData, parquetMetadataAsync } from 'hyparquet';
import * as z from 'zod/mini';
import { DERIVED_COLUMNS, type Column, typeOfElement } from '../base/column-types.ts';
import type { ReadableFile } from './readable-file.ts';

/** Under this key a file lists the record's field for each column that has another name than its field. */
export const FIELDS_KEY = 'brand-reports.fields';

const storedFields = z.record(z.string(), z.string());

export function readMetadata(file: ReadableFile): Promise<FileMetaData> {
  return parquetMetadataAsync({
    byteLength: file.bytes,
    slice: async (start, end = file.bytes) => new Uint8Array(await file.range(start, end)).buffer,
  });
}

/** In the order of the schema. A column of a type that this program never writes is left out. */
export function columnsOf({ schema, key_value_metadata: metadata = [] }: FileMetaData): Column[] {
  const stored = metadata.find(({ key }) => key === FIELDS_KEY)?.value ?? '{}';
  const fields = z.parse(storedFields, JSON.parse(stored));
  return schema.slice(1).flatMap((element): Column[] => {
    const { name } = element;
    const type = typeOfElement(element);
    if (type === undefined) return [];
    return [{ name, type, ...(!DERIVED_COLUMNS.includes(name) && { field: fields[name] ?? name }) }];
  });
}
