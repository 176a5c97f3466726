import { describe, expect, it } from '@jest/globals';
import { printedCommand, rememberFlags, withRunnableCommands } from '../../cli/printed-command.ts';
import { CliCommand } from '../../cli/options.ts';
import { commands } from '../../cli/program.ts';
import { REPEATED_FLAGS, commandLine } from '../../shared/base/command-line.ts';
import { runCli } from './run-cli.ts';

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
});
