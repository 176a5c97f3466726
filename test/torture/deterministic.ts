/**
 * Imported before the product: compression that would end in a thread of its own, whenever it likes, ends at once, and
 * no timeout of the real world cuts a virtual request short.
 */
import zlib from 'node:zlib';
import { syncBuiltinESMExports } from 'node:module';

type Done = (error: Error | null, result: Buffer) => void;

const atOnce =
  (work: (input: zlib.InputType, options?: zlib.ZlibOptions) => Buffer) =>
  (input: zlib.InputType, ...rest: [Done] | [zlib.ZlibOptions, Done]) => {
    const done = rest.length === 1 ? rest[0] : rest[1];
    const options = rest.length === 1 ? undefined : rest[0];
    try {
      done(null, work(input, options));
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)), Buffer.alloc(0));
    }
  };

Object.assign(zlib, { gzip: atOnce(zlib.gzipSync), gunzip: atOnce(zlib.gunzipSync) });
syncBuiltinESMExports();
AbortSignal.timeout = () => new AbortController().signal;
