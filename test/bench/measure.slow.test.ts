import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { measure } from '../../bench/compare/measure.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const node = (script: string) => ({ program: process.execPath, args: ['--eval', script] });
const BURNT_MS = 300;
const burn = `while (process.cpuUsage().user < ${BURNT_MS * 1000});`;

it('the CPU of a process counts, and that of the children that it waited for', async () => {
  const { cpuMs, code } = await measure(
    node(
      `require('node:child_process').execFileSync(process.execPath, ['--eval', ${JSON.stringify(burn)}]); ${burn}`,
    ),
  );
  expect(code).toBe(0);
  expect(cpuMs).toBeGreaterThanOrEqual(2 * BURNT_MS);
});

it('what it prints and its exit code are kept', async () => {
  const ended = await measure(node('console.log("out"); console.error("err"); process.exitCode = 3'));
  expect(ended).toMatchObject({ code: 3, killed: false, stdout: 'out\n', stderr: 'err\n' });
});

it('memory that is given back counts as well', async () => {
  const script = 'Buffer.alloc(200 * 2 ** 20, 1); gc(); setTimeout(() => {}, 2000)';
  const { peakMb } = await measure({ program: process.execPath, args: ['--expose-gc', '--eval', script] });
  expect(peakMb).toBeGreaterThan(200);
});

it('a kill reaches the children too', async () => {
  const folder = await temporaryFolder();
  const born = join(folder.path, 'born');
  const child = `require('node:fs').writeFileSync(${JSON.stringify(born)}, ''); setInterval(() => {}, 1000)`;
  const parent = `require('node:child_process').spawn(process.execPath, ['--eval', ${JSON.stringify(child)}], { stdio: 'inherit' })`;
  // It would wait for ever for the output of a child that lives on.
  expect(await measure(node(parent), exists(born))).toMatchObject({ code: null, killed: true });
  await folder.remove();
});

async function exists(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(20);
}
