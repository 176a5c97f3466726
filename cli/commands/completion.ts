import { Argument, type Command } from 'commander';
import { reports } from '../../shared/reports/index.ts';
import { print } from '../output.ts';
import { tableNames } from './query.ts';
import { CliCommand } from '../options.ts';

const ZSH = 'autoload -Uz compinit bashcompinit && compinit && bashcompinit\n';

/** @param addAll adds every command, whose names and options the script completes */
export function addCompletion(program: CliCommand, addAll: (to: CliCommand) => Promise<void>): void {
  program
    .command('completion')
    .description('print a script that completes commands, options, reports and tables in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .example(['completion bash >> ~/.bashrc', 'completion zsh >> ~/.zshrc'])
    .action(async (shell: string) => {
      const all = new CliCommand();
      await addAll(all);
      print((shell === 'zsh' ? ZSH : '') + script(all.commands));
    });
}

/**
 * A case is `<index of the word>:<command>:<word before>`. Without words to choose from, bash
 * completes files. In the quotes of a query it completes tables, after the text before them.
 */
function script(commands: readonly Command[]): string {
  const names = commands.map((command) => command.name());
  return `_brand_reports() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words='' before='' IFS=' '
  case "$COMP_CWORD:\${COMP_WORDS[1]}:\${COMP_WORDS[COMP_CWORD-1]}" in
    1:*) words='${names.join(' ')} help' ;;
    *:help:*) words='${names.join(' ')}' ;;
${commands.flatMap(casesOf).join('\n')}
  esac
  case "\${COMP_WORDS[1]}:$cur" in
    query:[\\"\\']*)
      before="\${cur#?}"
      cur="\${cur##*[ \\"\\',(]}"
      before="\${before%"$cur"}"
      words='${tableNames().join(' ')}' ;;
  esac
  local found="$(compgen -P "$before" -W "$words" -- "$cur")" IFS=$'\\n'
  COMPREPLY=( $found )
}
complete -o default -F _brand_reports brand-reports`;
}

/** First the options that take a value, then the rest of the command. */
function casesOf(command: Command): string[] {
  const ofCommand = (before: string, words: readonly string[]) =>
    `    *:${command.name()}:${before}) words='${words.join(' ')}' ;;`;
  const values = command.options
    .filter(({ required }) => required)
    .map(({ long, short, argChoices = [] }) =>
      ofCommand([long, short].filter(Boolean).join(`|*:${command.name()}:`), argChoices),
    );
  const flags = [...command.options.map(({ long }) => long ?? ''), '--help'];
  const choices = command.registeredArguments.flatMap((argument) =>
    ['report', 'table'].includes(argument.name()) ? NAMES : (argument.argChoices ?? []),
  );
  return [...values, ofCommand('*', [...flags, ...choices])];
}

const NAMES = Object.values(reports).flatMap(({ name, table }) => (name === table ? [name] : [name, table]));
