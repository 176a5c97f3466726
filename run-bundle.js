import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Module, createRequire, getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

// Plain JavaScript, because Node would take longer to strip its types than to run it.

/** A run that took so many times the CPU time of the one whose code is kept has called more functions than that. */
const LONGER = 1.5;
const BYTES = 4;

/**
 * Node keeps what V8 compiles of a file when it loads it. Most is compiled later, when a function is called for the first
 * time: a fifth of a short run. So this keeps what was compiled by the end of a run, for the next one of the same command.
 * @param {string} file
 */
export function runBundle(file) {
  // By its real path the parts that are loaded later find it, too.
  const path = realpathSync(file);
  const text = readFileSync(path);
  const folder = getCompileCacheDir();
  const name = `${crc32(`${path} ${process.argv[2]}`).toString(16)}.functions`;
  const kept = folder === undefined ? undefined : join(folder, name);
  const code = kept === undefined ? undefined : readCode(kept, crc32(text));
  const script = new Script(Module.wrap(text.toString()), { filename: path, cachedData: code?.bytes });
  if (kept !== undefined)
    process.once('exit', (exitCode) => {
      const isEnough = code && !script.cachedDataRejected && cpuMs() < code.cpuMs * LONGER;
      // Of a run that failed most is missing.
      if (exitCode === 0 && !isEnough) keepCode(kept, crc32(text), script);
    });
  const main = new Module(path);
  const require = createRequire(path);
  require.cache[path] = main;
  script.runInThisContext()(main.exports, require, main, path, dirname(path));
}

/**
 * A file of them holds the code, the CPU time of the run that has kept it, and a checksum.
 * @param {string} file
 * @param {number} source its checksum: V8 compares only the length of a text
 */
function readCode(file, source) {
  try {
    if (!statSync(file).isFile()) return undefined;
    const content = readFileSync(file);
    const sealed = content.subarray(0, -BYTES);
    if (crc32(sealed, source) !== content.readUInt32LE(sealed.length)) return undefined;
    return { bytes: sealed.subarray(0, -BYTES), cpuMs: sealed.readUInt32LE(sealed.length - BYTES) };
  } catch {
    // There is none, or one that cannot be read: then this run takes a little longer.
    return undefined;
  }
}

/** @param {string} file @param {number} source @param {Script} script */
function keepCode(file, source, script) {
  const own = `${file}.${process.pid}`;
  try {
    // V8 takes compiled code only under the flags it had: shared/adapters/heap.ts has set these, here they have their defaults.
    for (const flag of ['--heap-growing-percent=0', '--semi-space-growth-factor=2']) setFlagsFromString(flag);
    const sealed = Buffer.concat([script.createCachedData(), uint32(cpuMs())]);
    writeFileSync(own, Buffer.concat([sealed, uint32(crc32(sealed, source))]));
    renameSync(own, file);
  } catch {
    // A disk that is full or read-only: the next run is as fast as this one.
    rmSync(own, { force: true });
  }
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1000);
}

/** @param {number} value */
function uint32(value) {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt32LE(value);
  return bytes;
}
