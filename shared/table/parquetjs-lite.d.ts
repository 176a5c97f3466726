declare module 'parquetjs-lite/parquet.js' {
  interface Metadata {
    version: number;
    schema: { converted_type: number | null }[];
  }

  interface File {
    readFooter(): Promise<Metadata>;
  }

  export interface Parquetjs {
    ParquetEnvelopeReader: {
      openBuffer(bytes: Buffer, options: { default_dictionary_size: number }): Promise<File>;
    };
    ParquetReader: new (
      metadata: Metadata,
      file: File,
      options: { rawStatistics: true },
    ) => { getCursor(): { nextRowGroup(): Promise<Record<string, unknown>[] | null> } };
  }

  const parquetjs: Parquetjs;
  export default parquetjs;
}

declare module 'parquetjs-lite/lib/compression.js' {
  const compression: { PARQUET_COMPRESSION_METHODS: Record<string, { inflate(page: Buffer): Buffer }> };
  export default compression;
}

declare module 'parquetjs-lite/lib/codec/index.js' {
  type Decode = (
    type: string,
    cursor: { buffer: Buffer; offset: number },
    count: number,
    options: { typeLength?: number; column?: { typeLength?: number } },
  ) => unknown[];

  const codecs: Record<string, { decodeValues: Decode }>;
  export default codecs;
}
