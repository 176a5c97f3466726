declare module 'parquetjs-lite/parquet.js' {
  interface SchemaElement {
    converted_type: number | null;
  }

  interface Metadata {
    version: number;
    schema: SchemaElement[];
  }

  class ParquetEnvelopeReader {
    static openBuffer(
      bytes: Buffer,
      options: { default_dictionary_size: number },
    ): Promise<ParquetEnvelopeReader>;
    readFooter(): Promise<Metadata>;
  }

  class ParquetReader {
    constructor(metadata: Metadata, file: ParquetEnvelopeReader, options: { rawStatistics: true });
    getCursor(): { nextRowGroup(): Promise<Record<string, unknown>[] | null> };
  }

  export interface Parquetjs {
    ParquetEnvelopeReader: typeof ParquetEnvelopeReader;
    ParquetReader: typeof ParquetReader;
  }

  const parquetjs: Parquetjs;
  export default parquetjs;
}

declare module 'parquetjs-lite/lib/compression.js' {
  const compression: { PARQUET_COMPRESSION_METHODS: Record<string, { inflate(page: Buffer): Buffer }> };
  export default compression;
}

declare module 'parquetjs-lite/lib/codec/index.js' {
  interface Cursor {
    buffer: Buffer;
    offset: number;
  }

  interface Options {
    typeLength?: number;
    column?: { typeLength?: number };
  }

  const codecs: Record<
    string,
    { decodeValues(type: string, cursor: Cursor, count: number, options: Options): unknown[] }
  >;
  export default codecs;
}
