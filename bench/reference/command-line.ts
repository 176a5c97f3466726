/** Writes docs/reference/command-line.md from the program: its commands, arguments, options, defaults and examples. */
import type { Argument, Command, Option } from 'commander';
import { EXIT } from '../../cli/exit-codes.ts';
import { addAll, emptyProgram } from '../../cli/program.ts';
import { block, code, entriesOf, pageOf, sentence, tableOf } from './markdown.ts';

/** Facts about a command that the program itself does not state. */
interface More {
  /** The exit codes, if they mean more than success (0), failure (1) and wrong usage (2). */
  exits?: string;
  /** The how-to guide of the task. */
  guide?: [title: string, path: string];
}

const OUTCOME = 'By the status of the outcome: 0 `complete`, 1 `failed`, 3 `incomplete`, 4 `busy`.';

/** A command without an entry here fails the test of the page. */
export const MORE: Readonly<Record<string, More>> = {
  demo: { exits: OUTCOME, guide: ['First brand', '../tutorial/first-brand.md'] },
  init: {
    exits: '0 if the service answers and the proposed settings pass the connection test; 1 if not.',
    guide: ['First brand', '../tutorial/first-brand.md'],
  },
  sync: {
    exits: `${OUTCOME} 1 whatever the status, if the command of \`--on-published\` fails.`,
    guide: ['Run by hand', '../how-to/run-by-hand.md'],
  },
  check: {
    exits:
      '0 if the settings fit the service (warnings may be printed); 1 if they do not, or if it cannot be reached; 4 if another run of a brand sends requests.',
    guide: ['Add or remove a brand', '../how-to/add-or-remove-a-brand.md'],
  },
  status: {
    exits: '0 whatever the state of the days is; 1 if `--fail-on` names a state that a day has.',
    guide: ['Schedule on a laptop', '../how-to/schedule-on-a-laptop.md'],
  },
  query: {
    exits:
      '1 if the SQL is refused or fails; 2 if the command line, the settings or the lake cannot be used.',
    guide: ['Views', 'views.md'],
  },
  open: { guide: ['Open in BI tools', '../how-to/open-in-bi-tools.md'] },
  dbt: { guide: ['dbt', '../how-to/dbt.md'] },
  diff: { guide: ['Changes', '../explanation/changes.md'] },
  statement: { guide: ['Statements', '../how-to/statements.md'] },
  mcp: { guide: ['Connect an assistant', '../how-to/connect-an-assistant.md'] },
  verify: {
    exits:
      '0 if every file agrees with the ledger, and no document is damaged or all were restored; otherwise 1.',
    guide: ['Verify', '../how-to/verify.md'],
  },
  rollback: {
    exits: '0 if the version is published; 4 if another run is reading the day.',
    guide: ['History and versions', '../explanation/history.md'],
  },
  rebuild: { exits: OUTCOME, guide: ['Rebuild', '../how-to/rebuild.md'] },
  close: {
    exits: 'Without a month: 1 if the document of a close is damaged.',
    guide: ['Close a month', '../how-to/close-a-month.md'],
  },
  erase: {
    exits:
      '0 if the data is erased; 3 if something is left, so that the command has to run again; 4 if another run is reading.',
    guide: ['Erase data', '../how-to/erase-data.md'],
  },
  'serve-sample': {},
};

const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  complete: 'The command did what it is for.',
  failed:
    'The command failed, or it found what it searches for (such as a damaged file). The message names the next step.',
  usage:
    'The command line, the settings, the credentials or the lake cannot be used as they are. The message names what to correct.',
  incomplete:
    'Days are left, for example after Ctrl-C, after `--max-seconds`, or because failed days wait. Run the command again later.',
  busy: 'Other runs are reading every due day. Run the command again later.',
};

const VARIABLES: readonly [name: string, meaning: string][] = [
  [
    '`BRAND_REPORTS_CREDENTIALS`',
    'The credentials as JSON, in the form of the file of `--credentials`. Used if `--credentials` is missing, before `credentials.json`.',
  ],
  [
    '`BRAND_REPORTS_<BRAND>_BID`, `…_TOKEN`, `…_SECRET`, `…_BASE_URL`',
    'The credentials of one brand, a field each. `<BRAND>` is the name of the brand in capitals, with `_` for `-`: `BRAND_REPORTS_ACME_EU_TOKEN`. `…_BASE_URL` is optional. Used if neither `--credentials` nor `BRAND_REPORTS_CREDENTIALS` is given, before `credentials.json`.',
  ],
  [
    '`BRAND_REPORTS_LAKE_OWNER`',
    'The AWS account (12 digits) that owns the bucket of an S3 lake. A bucket of another account is refused. If the variable is missing, a bucket of any account is accepted.',
  ],
  [
    '`AWS_PROFILE`, `AWS_REGION`, …',
    'The usual variables of AWS SDKs, for a lake in S3 and for `--credentials aws`.',
  ],
  [
    '`XDG_CACHE_HOME`',
    'The folder in which `query` keeps copies of the files of an S3 lake. An absolute path; `~/.cache` if it is missing.',
  ],
  [
    '`NO_COLOR`, `FORCE_COLOR`',
    'Whether the text has colours, as in every program on Node. Without them, a terminal gets colours and a file does not.',
  ],
  ['`NODE_COMPILE_CACHE`', 'The folder in which Node keeps compiled sources, for a faster start.'],
];

/** An option that this many commands share is described once. */
const SHARED_BY = 4;

/** The page, as Markdown. */
export async function commandLinePage(): Promise<string> {
  const program = emptyProgram('');
  await addAll(program);
  const { commands } = program;
  const shared = sharedOptions(commands);
  return pageOf(
    '# Command line',
    '`npm run reference` writes this page from the program itself. `brand-reports --help` and `brand-reports COMMAND --help` print the same texts. In a checkout, type `npx brand-reports`.',
    ...[...Map.groupBy(commands, (each) => each.helpGroup())].flatMap(([group, own]) => [
      `**${group.replace(/:$/, '')}**`,
      tableOf(
        ['command', 'what it does', 'guide'],
        own.map((each) => [
          `[${code(usageOf(each))}](#${each.name()})`,
          sentence(flagsAsCode(each.description())),
          guideOf(each.name()),
        ]),
      ),
    ]),
    'A report has two names, and every command accepts both: `order_list` (the report) and `orders` (its table).',
    '## Settings',
    'Commands read `settings.jsonc` if the current folder has that file, and `cdk.json` otherwise. `--settings FILE` names another file. [Settings](settings.md) describes the contents. `sync`, `check`, `status` and `rebuild` need the settings; all other commands also work without a settings file.',
    '## Exit codes',
    tableOf(
      ['exit code', 'meaning'],
      entriesOf(EXIT).map(([name, number]) => [code(String(number)), EXIT_MEANINGS[name]]),
    ),
    'Results are printed on standard output, and messages and progress on standard error. With `--json`, an error is also printed on standard output as a [JSON document](json-output.md). [Errors](errors.md) lists the codes.',
    '## Environment variables',
    tableOf(['variable', 'meaning'], VARIABLES),
    '## Common options',
    'Several commands share these options. The section of each command lists the options that the command takes.',
    optionTable(shared, []),
    ...commands.flatMap((each) => sectionOf(each, shared)),
  );
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

function guideOf(name: string): string {
  const { guide } = MORE[name] ?? {};
  return guide ? `[${guide[0]}](${guide[1]})` : '';
}

function sectionOf(command: Command, shared: readonly Option[]): string[] {
  const { notes, examples } = helpAfter(command);
  const own = command.options.filter((option) => !option.hidden && !shared.some(sameAs(option)));
  const common = command.options.filter((option) => shared.some(sameAs(option)));
  const { exits } = MORE[command.name()] ?? {};
  return [
    `## ${command.name()}`,
    `${sentence(flagsAsCode(command.description()))}.`,
    block('text', `brand-reports ${usageOf(command)}${command.options.length > 0 ? ' [options]' : ''}`),
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
    exits === undefined ? '' : `Exit code: ${exits}`,
    examples === '' ? '' : block('sh', examples),
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
