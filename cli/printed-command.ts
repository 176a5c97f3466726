import type { Command } from 'commander';
import { type GivenFlags, REPEATED_FLAGS, commandLine } from '../shared/base/command-line.ts';

let given: GivenFlags = {};

/** Remembers the flags of this invocation. Defaults are left out: they are the same when the printed command runs. */
export function rememberFlags(command: Command): void {
  const named = REPEATED_FLAGS.filter((flag) => command.getOptionValueSource(flag) === 'cli');
  given = Object.fromEntries(named.map((flag) => [flag, String(command.getOptionValue(flag))]));
}

export function isGiven(flag: keyof GivenFlags): boolean {
  return given[flag] !== undefined;
}

/** @param flags replace the flags of this invocation */
export function printedCommand(name: string, words: readonly string[] = [], flags: GivenFlags = {}): string {
  return commandLine(name, words, { ...given, ...flags });
}

/** Commands in quotes, or after a colon at the end. Only plain words match, because messages also quote text from outside. */
const COMMANDS =
  /(?<="|: )brand-reports (?:check|close|diff|erase|init|open|rebuild|rollback|statement|status|sync|verify)\b[\w @%+=:,./-]*(?="|$)/g;

/** Adds the flags of this invocation to the commands in a message of the core, which contains none and may be stored. */
export function withRunnableCommands(message: string): string {
  return message.replaceAll(COMMANDS, (text) => {
    const [, name = '', ...words] = text.split(' ');
    return printedCommand(name, words);
  });
}
