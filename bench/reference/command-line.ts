/** Fills docs/reference/command-line.md from the program: its commands, arguments, options, defaults and examples. */
import type { Argument, Command, Option } from 'commander';
import { addAll, emptyProgram } from '../../cli/program.ts';
import { code, sentence, tableOf } from './markdown.ts';

/** An option that this many commands share is described once. */
const SHARED_BY = 4;

/**
 * The page with the commands and options of the program. The guide of a command, its exit code and the sections before
 * the options are kept from the present page.
 */
export async function commandLinePage(before: string): Promise<string> {
  const program = emptyProgram('');
  await addAll(program);
  const { commands } = program;
  const shared = sharedOptions(commands);
  const [firstGroup = -1, afterGroups = -1, options = -1] = [
    '\n**',
    '\nA report has two',
    '\n## Common options',
  ].map((text) => before.indexOf(text));
  const groups = [...Map.groupBy(commands, (each) => each.helpGroup())].flatMap(([group, own]) => [
    `**${group.replace(/:$/, '')}**`,
    tableOf(
      ['command', 'what it does', 'guide'],
      own.map((each) => [
        `[${code(usageOf(each))}](#${each.name()})`,
        sentence(flagsAsCode(each.description())),
        new RegExp(`\\(#${each.name()}\\) \\|.*\\| (\\[.+) \\|\\n`).exec(before)?.[1] ?? '',
      ]),
    ),
  ]);
  const parts = [
    before.slice(0, firstGroup).trim(),
    ...groups,
    before.slice(afterGroups, options).trim(),
    '## Common options',
    'Several commands share these options. The section of each command lists the options that the command takes.',
    optionTable(shared, []),
    ...commands.flatMap((each) => sectionOf(each, shared, before)),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function usageOf(command: Command): string {
  const words = command.registeredArguments.map(argumentText);
  return [command.name(), ...words].join(' ');
}

function argumentText(argument: Argument): string {
  const [choice] = argument.argChoices?.length === 1 ? argument.argChoices : [];
  if (choice !== undefined) return choice;
  const name = argument.name() + (argument.variadic ? '…' : '');
  return argument.required ? `<${name}>` : `[${name}]`;
}

function sectionOf(command: Command, shared: readonly Option[], before: string): string[] {
  const { notes, examples } = helpAfter(command);
  const own = command.options.filter((option) => !option.hidden && !shared.some(sameAs(option)));
  const common = command.options.filter((option) => shared.some(sameAs(option)));
  const [, present = ''] = before.split(`\n## ${command.name()}\n`);
  const [exitCode = ''] = /^Exit code: .*$/m.exec(present.split('\n## ')[0] ?? '') ?? [];
  return [
    `## ${command.name()}`,
    `${sentence(flagsAsCode(command.description()))}.`,
    `\`\`\`text\nbrand-reports ${usageOf(command)}${command.options.length > 0 ? ' [options]' : ''}\n\`\`\``,
    command.registeredArguments.length > 0
      ? tableOf(
          ['argument', 'meaning'],
          command.registeredArguments.map((each) => [code(each.name()), sentence(withFacts(each, []))]),
        )
      : '',
    own.length > 0 ? optionTable(own, command.options) : '',
    common.length > 0
      ? `Common options: ${common.map(({ long }) => `[${code(long ?? '')}](#common-options)`).join(', ')}.`
      : '',
    notes,
    exitCode,
    examples === '' ? '' : `\`\`\`sh\n${examples}\n\`\`\``,
  ];
}

/** @param beside all options of the command: an option can only exclude these */
function optionTable(options: readonly Option[], beside: readonly Option[]): string {
  return tableOf(
    ['option', 'meaning'],
    options.map((option) => [code(option.flags), sentence(withFacts(option, beside))]),
  );
}

/** The description with default and allowed values, as `--help` prints them. */
function withFacts(of: Option | Argument, beside: readonly Option[]): string {
  const { description, argChoices = [], defaultValue, defaultValueDescription } = of;
  const hasDefault = defaultValue !== undefined && String(defaultValue) !== '';
  const shown = defaultValueDescription ?? code(String(defaultValue));
  const named = 'conflictsWith' in of && Array.isArray(of.conflictsWith) ? of.conflictsWith : [];
  const conflicts = beside.filter((option) => named.includes(option.attributeName()));
  return [
    flagsAsCode(description.replaceAll(/<(\w+)>/g, '&lt;$1&gt;')),
    ...('mandatory' in of && of.mandatory && !hasDefault ? ['Required'] : []),
    ...(argChoices.length > 0 ? [`Allowed: ${argChoices.map(code).join(', ')}`] : []),
    ...(hasDefault ? [`Default: ${shown}`] : []),
    ...(conflicts.length > 0 ? [`Not with ${conflicts.map(({ long }) => code(long ?? '')).join(', ')}`] : []),
  ].join('. ');
}

function flagsAsCode(text: string): string {
  return text.replaceAll(/(?<![\w`])--[a-z][\w-]*/g, '`$&`');
}

function sharedOptions(commands: readonly Command[]): Option[] {
  const all = commands.flatMap(({ options }) => options);
  const firsts = all.filter((option, index) => all.findIndex(sameAs(option)) === index);
  return firsts.filter((option) => all.filter(sameAs(option)).length >= SHARED_BY);
}

const sameAs = (one: Option) => (other: Option) =>
  one.flags === other.flags && one.description === other.description;

/** What the help has after the options: sentences up to the first list, and the examples. */
function helpAfter(command: Command): { notes: string; examples: string } {
  let printed = '';
  command.configureOutput({ writeOut: (text) => (printed += text) }).outputHelp();
  const lines = printed.slice(command.helpInformation().length).split('\n');
  const firstList = lines.findIndex((line) => /^\w[\w ]*:$/.test(line));
  const notes = lines.slice(0, firstList < 0 ? undefined : firstList).join('\n');
  const examples = lines.filter((line) => line.startsWith('  $ ')).map((line) => line.slice(4));
  return { notes: notes.trim(), examples: examples.join('\n') };
}
