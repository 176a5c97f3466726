declare module 'parquetjs-lite/parquet.js' {
  interface Field {
    type: string;
    optional: boolean;
    compression: string;
  }

  class ParquetSchema {
    constructor(fields: Record<string, Field>);
  }

  class ParquetWriter {
    static openFile(
      schema: ParquetSchema,
      path: string,
      options: { rowGroupSize: number },
    ): Promise<ParquetWriter>;
    appendRow(row: Record<string, unknown>): Promise<void>;
    close(): Promise<void>;
  }

  export interface Parquetjs {
    ParquetSchema: typeof ParquetSchema;
    ParquetWriter: typeof ParquetWriter;
  }
}
