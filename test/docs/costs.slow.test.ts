import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('docs/costs.md is what npm run cost prints', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/cost.ts'], { cwd: root });
  expect(readFileSync(new URL('../../docs/costs.md', import.meta.url), 'utf8')).toBe(stdout);
}, 600_000);
