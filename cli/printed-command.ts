/** Builds every command that the command line prints, with the flags of this invocation as they were given. */
import type { Command } from 'commander';
import { type GivenFlags, REPEATED_FLAGS, commandLine } from '../shared/command-line.ts';

let given: GivenFlags = {};

/** Remembers the flags that were given: a default is the same when the printed command runs. */
export function rememberFlags(command: Command): void {
  const named = REPEATED_FLAGS.filter((flag) => command.getOptionValueSource(flag) === 'cli');
  given = Object.fromEntries(named.map((flag) => [flag, String(command.getOptionValue(flag))]));
}

/** @param flags in place of those that were given */
export function printedCommand(name: string, words: readonly string[] = [], flags: GivenFlags = {}): string {
  return commandLine(name, words, { ...given, ...flags });
}

/** In quotes, or after a colon at the end; of plain words only, because messages also quote what came from outside. */
const COMMANDS =
  /(?<="|: )brand-reports (?:check|close|init|rebuild|repair|status|sync|verify)\b[\w @%+=:,./-]*(?="|$)/g;

/** A message of the core, which knows no flags and may be stored: its commands get those of this invocation. */
export function withRunnableCommands(message: string): string {
  return message.replaceAll(COMMANDS, (text) => {
    const [, name = '', ...words] = text.split(' ');
    return printedCommand(name, words);
  });
}
