/** Every command that a page prints exists: `brand-reports …` by the real program, `npm run …` by package.json. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Command, CommanderError } from 'commander';
import { CliCommand } from '../../cli/options.ts';
import { commands } from '../../cli/program.ts';
import { commandsIn } from './commands.ts';
import { blocksOf, inlineCodeOf, pages, textOf } from './pages.ts';

let addAll: readonly ((to: CliCommand) => void)[] = [];

beforeAll(async () => {
  addAll = await Promise.all(Object.values(commands).map((load) => load()));
});

function idleProgram(): Command {
  const program = new CliCommand('brand-reports').exitOverride().configureOutput({ writeErr: () => {} });
  for (const add of addAll) add(program);
  const idle = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
    if (command.commands.length === 0) command.action(() => {});
    command.commands.forEach(idle);
  };
  program.version('0').commands.forEach(idle);
  return program;
}

/** @returns what the program has against the words; `undefined` for nothing */
function refusalOf(words: readonly string[]): string | undefined {
  try {
    idleProgram().parse(words, { from: 'user' });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return String(thrown);
    return thrown.exitCode === 0 ? undefined : thrown.message;
  }
}

/** Code in a sentence may leave out arguments, and has no values of options: only its names are judged. */
function unknownNameIn([name = '', ...words]: readonly string[]): string | undefined {
  let command = idleProgram().commands.find((each) => each.name() === name);
  if (!command && (name.startsWith('-') || name === 'help')) return undefined;
  if (!command) return `unknown command ${name}`;
  const [word] = words;
  command = command.commands.find((each) => each.name() === word) ?? command;
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  const unknown = words.find((each) => /^--?[a-z]/.test(each) && !known.includes(each.replace(/=.*/, '')));
  return unknown === undefined || unknown === '--help' ? undefined : `unknown option ${unknown} of ${name}`;
}

const program = 'brand-reports';

describe('the commands of the pages', () => {
  it('are met at all', () => {
    expect(pages.flatMap((page) => blocksOf(page, 'sh'))).not.toHaveLength(0);
    expect(refusalOf(['sync', '--nonsense'])).toContain('unknown option');
    expect(refusalOf(['rollback'])).toContain('missing required argument');
    expect(unknownNameIn(['sync', '--nonsense'])).toBe('unknown option --nonsense of sync');
  });

  it.each(pages)('of %s are accepted by the program', (page) => {
    const refused = blocksOf(page, 'sh')
      .flatMap(({ text }) => commandsIn(text, program))
      .flatMap((words) => {
        const refusal = refusalOf(words);
        return refusal === undefined ? [] : [`brand-reports ${words.join(' ')}: ${refusal}`];
      });
    const unknown = inlineCodeOf(page)
      .filter((code) => /^(npx )?brand-reports [a-z-]/.test(code))
      .flatMap((code) => commandsIn(code, program))
      .flatMap((words) => unknownNameIn(words) ?? []);
    expect([...refused, ...unknown]).toEqual([]);
  });

  it.each(pages)('npm run … of %s are scripts of package.json', (page) => {
    const { scripts } = JSON.parse(textOf('package.json'));
    const named = [...textOf(page).matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
