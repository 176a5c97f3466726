import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runCli, startCli } from './run-cli.ts';
import { serveSampleBrand } from './sample-brand.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

async function pasted(command: string) {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    command.replace(/^npx brand-reports/, 'printf "%s\\0"'),
  ]);
  return runCli(stdout.split('\0').slice(0, -1), { cwd: folder.path });
}

it('the demo fills all five tables and answers SQL on them, twice in a row', async () => {
  const lake = join(folder.path, "a shop's lake");
  let said = '';
  for (const run of ['first', 'second']) {
    const { code, stdout, stderr } = await runCli(['demo', '--lake', lake]);
    expect({ run, code, stderr: code === 0 ? '' : stderr }).toEqual({ run, code: 0, stderr: '' });
    said = stdout;
    expect(stdout.split('\n').findIndex((line) => line.startsWith('──'))).toBeLessThan(40);
    expect(stdout.match(/^(acme|globex) .* complete .*$/gm)).toHaveLength(10);
    expect(stdout).toMatch(
      /What each publisher brought[\s\S]* USD +\d[\s\S]* status +new +void\n[\s\S]*^order_list .* complete +[1-9]/m,
    );
  }
  expect((await stat(lake)).mode & 0o777).toBe(0o700);
  const [query = '', statement = '', status = '', verify = '', ...own] = said.match(/(?<=^ +)npx .*/gm) ?? [];
  expect(own).toEqual(['npx brand-reports init']);
  expect((await pasted(query)).stdout).toMatch(/^brand +month /m);
  expect(await pasted(statement)).toMatchObject({ code: 0, stdout: '' });
  expect(await readFile(join(folder.path, 'statement.html'), 'utf8')).toContain('<h1>Statement ');
  expect((await pasted(status)).stdout).toMatch(/^click_details +\d{4}-/m);
  expect(await pasted(verify)).toMatchObject({ code: 0, stdout: expect.stringMatching(/ok: 11[01] days/) });
  await rm(join(lake, 'current'), { recursive: true });
  await rm(join(lake, 'snapshots/orders'), { recursive: true });
  const { stdout } = await pasted(verify);
  const [rebuild = ''] = /^npx brand-reports rebuild .*?(?= \|\|)/m.exec(stdout) ?? [];
  expect(await pasted(rebuild)).toMatchObject({ code: 0 });
});

it('the demo refuses a lake with reports of another service', async () => {
  const sample = await serveSampleBrand({ daysBefore: 0 });
  await runCli(['sync', 'clicks_list', ...sample.flags]);
  const { code, stderr } = await runCli(['demo', '--lake', sample.lake]);
  await sample.close();
  expect(code).toBe(2);
  expect(stderr).toContain('--lake FOLDER');
});

it('serve-sample serves a brand that sync can fetch from, prints no credential, and overwrites nothing', async () => {
  const [settings, credentials] = [join(folder.path, 'settings.json'), join(folder.path, 'credentials.json')];
  writeFileSync(settings, 'mine');
  expect(await runCli(['serve-sample', '--write-settings', folder.path])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('settings.json exists and is not overwritten'),
  });
  expect([readdirSync(folder.path), readFileSync(settings, 'utf8')]).toEqual([['settings.json'], 'mine']);
  await rm(settings);
  const served = startCli(['serve-sample', '--write-settings', folder.path]);
  while (!existsSync(settings) || !readFileSync(settings, 'utf8').endsWith('}\n')) await setTimeout(50);
  const files = ['--settings', settings, '--credentials', credentials, '--lake', join(folder.path, 'lake')];
  const { code } = await runCli(['sync', 'clicks_list', '--brand', 'acme', ...files]);
  served.process.kill('SIGINT');
  const { stdout, code: ended } = await served.result;
  expect({ code, ended }).toEqual({ code: 0, ended: 0 });
  expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+\/api\/acme/);
  expect(stdout).not.toMatch(/[0-9a-f]{32}/);
});
