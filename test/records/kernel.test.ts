import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { compiledKernel } from '../../kernel/compile.ts';
import { allocated, copied, giveBackKernel, release, takeKernel } from '../../shared/records/kernel.ts';

describe('the kernel', () => {
  it('matches its source; otherwise run "npm run kernel"', async () => {
    const code = new URL('../../shared/records/code.ts', import.meta.url);
    expect(await readFile(code, 'utf8')).toBe(await compiledKernel());
  });

  it('I12: keeps few instances, and no instance that has grown far', () => {
    const many = Array.from({ length: 30 }, () => takeKernel());
    const [grown] = many;
    if (grown) allocated(grown, 2 ** 26);
    for (const kernel of many) giveBackKernel(kernel);
    const again = Array.from({ length: 30 }, () => takeKernel());
    expect(again.filter((kernel) => many.includes(kernel)).length).toBeLessThan(10);
    expect(again.some((kernel) => kernel.memory.buffer.byteLength >= 2 ** 26)).toBe(false);
    for (const kernel of again) giveBackKernel(kernel);
  });

  it.each([2 ** 31 + 1, 2 ** 32 - 1])('fails instead of having too little space for %d bytes', (bytes) => {
    const kernel = takeKernel();
    kernel.releaseAll();
    expect(() => allocated(kernel, bytes)).toThrow(WebAssembly.RuntimeError);
    expect(() => Array.from({ length: 5 }, () => allocated(kernel, 2 ** 30))).toThrow(
      WebAssembly.RuntimeError,
    );
  });

  it('reports the next step if the process may not reserve addresses', async () => {
    const kernel = new URL('../../shared/records/kernel.ts', import.meta.url).href;
    const script = `
      const { takeKernel } = await import(${JSON.stringify(kernel)});
      try { globalThis.held = Array.from({ length: 9 }, takeKernel); }
      catch ({ kind, code, message }) { console.log(kind, code, message); }`;
    const limited =
      'ulimit -v 25165824; exec "$0" --disable-warning=ExperimentalWarning --input-type=module --eval "$1"';
    const { stdout } = await promisify(execFile)('bash', ['-c', limited, process.execPath, script]);
    expect(stdout).toMatch(/^config address_space .*"ulimit -v unlimited"/);
  });

  it('has pieces of memory that do not overlap, and reuses released pieces', () => {
    const kernel = takeKernel();
    kernel.releaseAll();
    const values = Array.from({ length: 60 }, (_, index) => new Uint8Array(index * 7).fill(index));
    const pieces = values.map((value) => copied(kernel, value));
    for (const [index, { at, bytes }] of pieces.entries())
      expect(new Uint8Array(kernel.memory.buffer, at, bytes)).toEqual(values[index]);
    const size = kernel.memory.buffer.byteLength;
    release(kernel, ...pieces);
    for (const value of values) copied(kernel, value);
    expect(kernel.memory.buffer.byteLength).toBe(size);
    giveBackKernel(kernel);
  });
});
