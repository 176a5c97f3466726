/**
 * Messages print commands that run when they are pasted into a shell: this file knows which flags each command takes, so
 * that a message repeats those that the reader has given.
 */
import { shellWord } from './shell-word.ts';

const LAKE = ['lake', 'database'] as const;
const SETTINGS = ['settings', 'environment'] as const;

/** The flags that a printed command repeats, in their order. */
const REPEATED = {
  init: ['settings', 'credentials'],
  sync: ['brand', ...LAKE, ...SETTINGS, 'credentials'],
  check: ['brand', 'lake', ...SETTINGS, 'credentials'],
  status: ['brand', 'lake', ...SETTINGS],
  query: ['lake', ...SETTINGS],
  verify: ['brand', ...LAKE, ...SETTINGS, 'credentials'],
  rebuild: ['brand', ...LAKE, ...SETTINGS],
  repair: LAKE,
} as const;

/** A command that messages print. */
export type CommandName = keyof typeof REPEATED;

/** Values of flags, by name. */
export type GivenFlags = { [Flag in (typeof REPEATED)['sync'][number]]?: string | undefined };

/** Every flag that a printed command may repeat. */
export const REPEATED_FLAGS = REPEATED.sync;

/** Whether messages print this command. */
export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(REPEATED, name);
}

/**
 * A command for a POSIX shell.
 * @param words what follows the name of the command, each word unquoted
 * @param flags added after the words if the command takes them and the words do not have them
 */
export function commandLine(name: CommandName, words: readonly string[], flags: GivenFlags): string {
  const repeated = REPEATED[name].flatMap((flag) => {
    const value = flags[flag];
    return value === undefined || words.includes(`--${flag}`) ? [] : [`--${flag}`, value];
  });
  return ['npx', 'brand-reports', name, ...[...words, ...repeated].map(shellWord)].join(' ');
}
