/**
 * Makes the product deterministic; imported before the product:
 * - compression ends at once, instead of in a thread at a random time;
 * - modules that are loaded late are loaded now;
 * - no timeout in real time cuts a virtual request short.
 */
import zlib from 'node:zlib';
import { syncBuiltinESMExports } from 'node:module';

type Done = (error: Error | null, result: Buffer) => void;

const atOnce =
  <Options>(work: (input: zlib.InputType, options?: Options) => Buffer) =>
  (input: zlib.InputType, ...rest: [Done] | [Options, Done]) => {
    const done = rest.length === 1 ? rest[0] : rest[1];
    const options = rest.length === 1 ? undefined : rest[0];
    try {
      done(null, work(input, options));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), Buffer.alloc(0));
    }
  };

Object.assign(zlib, {
  gunzip: atOnce(zlib.gunzipSync),
  zstdCompress: atOnce(zlib.zstdCompressSync),
  zstdDecompress: atOnce(zlib.zstdDecompressSync),
});
syncBuiltinESMExports();
await import('../../shared/table/parquet.ts');
AbortSignal.timeout = () => new AbortController().signal;
