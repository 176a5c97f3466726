/** Builds the commands that messages print: with the flags that the reader gave, so that they run when pasted. */
import { shellWord } from './shell-word.ts';

export const REPEATED_FLAGS = ['brand', 'lake', 'database', 'settings', 'credentials'] as const;

export type GivenFlags = { [Flag in (typeof REPEATED_FLAGS)[number]]?: string | undefined };

/** Ends a message about credentials and settings. An outlet that names the check in its own way leaves it out. */
export const BY_CHECK = ': "brand-reports check" tests them';

const NOT_TAKEN = new Map<string, readonly string[]>([
  ['init', ['brand', 'lake', 'database']],
  ['check', ['database']],
  ['status', ['database', 'credentials']],
  ['query', ['brand', 'database', 'credentials']],
  ['open', ['brand', 'database', 'credentials']],
  ['rebuild', ['credentials']],
  ['rollback', ['credentials']],
  ['diff', ['database', 'credentials']],
  ['statement', ['database', 'credentials']],
  ['close', ['credentials']],
  ['erase', ['credentials']],
]);

/**
 * A command for a POSIX shell.
 * @param words what follows the name of the command, each word unquoted
 * @param flags added after the words if the command takes them and the words do not have them
 */
export function commandLine(name: string, words: readonly string[], flags: GivenFlags): string {
  const repeated = REPEATED_FLAGS.flatMap((flag) => {
    const { [flag]: value } = flags;
    const isLeftOut = NOT_TAKEN.get(name)?.includes(flag) || words.includes(`--${flag}`);
    return value === undefined || isLeftOut ? [] : [`--${flag}`, value];
  });
  return ['npx', 'brand-reports', name, ...[...words, ...repeated].map(shellWord)].join(' ');
}
