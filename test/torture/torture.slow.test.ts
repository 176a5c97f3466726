import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { COMPILE_CACHE } from '../fakes/compile-cache.ts';

const torture = fileURLToPath(new URL('./torture.ts', import.meta.url));
/** TORTURE_SEEDS=100 runs more; a failing seed is in the title of its test. */
const SEEDS = Array.from({ length: Number(process.env.TORTURE_SEEDS ?? 16) }, (_, index) => index + 1);

describe('whatever happens to a lake', () => {
  // A separate process, because the code that makes histories repeatable would change the other tests of this process.
  it.each(SEEDS)(
    'I4: plain runs afterwards leave exactly the records of the service: seed %i',
    async (seed) => {
      const args = ['--disable-warning=ExperimentalWarning', torture, '--only', '--seed', String(seed)];
      const env = { ...process.env, ...COMPILE_CACHE, NODE_OPTIONS: '' };
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(stdout).toMatch(/histories .* 1 /);
    },
  );
});
