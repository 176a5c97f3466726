import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { printedCommand, rememberFlags, withRunnableCommands } from '../../cli/printed-command.ts';
import { CliCommand } from '../../cli/options.ts';
import { commands } from '../../cli/program.ts';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { REPEATED_FLAGS, commandLine } from '../../shared/base/command-line.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
let sample: SampleBrandForCli | undefined;

afterEach(async () => {
  await sample?.close();
  sample = undefined;
});

async function flagsOf(name: string): Promise<string[]> {
  const { stdout } = await runCli([name, '--help']);
  return REPEATED_FLAGS.filter((flag) => stdout.includes(`--${flag} <`));
}

describe('a printed command', () => {
  it.each(Object.keys(commands).filter((name) => !['demo', 'dbt', 'mcp', 'serve-sample'].includes(name)))(
    'repeats only flags that %s accepts',
    async (name) => {
      const all = Object.fromEntries(REPEATED_FLAGS.map((flag) => [flag, 'x']));
      const repeated = [...commandLine(name, [], all).matchAll(/--(\w+)/g)].map(([, flag]) => flag);
      expect(await flagsOf(name)).toEqual(expect.arrayContaining(repeated));
    },
  );

  it('has the flags that were given, quoted, and no default', async () => {
    const command = new CliCommand().takes('lake', 'settings', 'credentials');
    command.parse(['--lake', "it's here", '--credentials', 'c.json'], { from: 'user' });
    rememberFlags(command);
    const given = `--lake 'it'\\''s here' --credentials c.json`;
    expect(printedCommand('sync', ['order_list'])).toBe(`npx brand-reports sync order_list ${given}`);
    expect(printedCommand('sync', [], { lake: 'other' })).toContain('--lake other');
    expect(
      withRunnableCommands(
        'Next step: "brand-reports verify --restore" restores it; read it again: brand-reports sync a --brand b',
      ),
    ).toBe(
      `Next step: "npx brand-reports verify --restore ${given}" restores it; read it again: npx brand-reports sync a --brand b ${given}`,
    );
    const hostile = 'the body "brand-reports sync $(id)"; "brand-reports toString"; brand-reports sync';
    expect(withRunnableCommands(hostile)).toBe(hostile);
  });

  it('runs when it is pasted: it reads the same lake with the same settings and credentials', async () => {
    sample = await serveSampleBrand({ daysBefore: 3 });
    const { folder, firstDay: day, acme } = sample;
    const odd = join(folder, "it's a folder");
    await mkdir(odd);
    await symlink(await bin(folder), join(odd, 'bin'));
    const settings = JSON.parse(await readFile(sample.flags[1] ?? '', 'utf8'));
    settings.brands.acme.reports = {
      transaction_list: { refresh: [{ untilAgeDays: 1, every: 'run' }], ...ALL_FINAL },
    };
    await writeFile(join(odd, 'settings.json'), JSON.stringify(settings));
    await writeFile(join(odd, 'c.json'), await readFile(sample.flags[3] ?? '', 'utf8'), { mode: 0o600 });
    const flags = [
      '--settings',
      join(odd, 'settings.json'),
      '--credentials',
      join(odd, 'c.json'),
      '--lake',
      join(odd, 'lake'),
    ];
    const sync = () => runCli(['sync', 'transaction_list', '--from', day, '--to', day, ...flags]);
    expect((await sync()).code).toBe(0);
    restate(acme, 'transaction_list', day, (held) => held.slice(1));
    const [, command = ''] = /If the service is right: (npx .*)$/m.exec((await sync()).stderr) ?? [];
    const { stdout } = await shell(command, odd);
    expect(stdout).toMatch(
      new RegExp(`transaction_list +complete +1 +0 +${recordsOfDay(acme, 'transaction_list', day).length} `),
    );
  });
});

/** `npx`, as it starts this checkout. */
async function bin(folder: string): Promise<string> {
  const path = join(folder, 'bin');
  await mkdir(path);
  await writeFile(join(path, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`);
  await chmod(join(path, 'npx'), 0o755);
  return path;
}

function shell(command: string, folder: string) {
  const { NODE_OPTIONS: _options, ...inherited } = process.env;
  const env = { ...inherited, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, NO_COLOR: '1' };
  return promisify(execFile)('/bin/sh', ['-c', command], { env, timeout: 60_000 });
}
