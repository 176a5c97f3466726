import { CliCommand } from './options.ts';
import { note, print } from './output.ts';
import { rememberFlags } from './printed-command.ts';

const OTHER_TOOLS = 'Other tools:';

export function emptyProgram(version: string): CliCommand {
  return (
    new CliCommand('brand-reports')
      .description(
        "Copies a brand's affiliate reports into dated Parquet partitions (the lake), and answers SQL on it",
      )
      .version(version, '--version', 'print the version')
      .helpOption('-h, --help', 'print this help')
      // Names without arguments, so that each command fits into one line.
      .configureHelp({ subcommandTerm: (command) => command.name() })
      .commandsGroup(OTHER_TOOLS)
      .helpCommand('help [command]', 'print the help of a command, with its options')
      .exitOverride()
      .hook('preAction', (_program, command) => rememberFlags(command))
      .configureOutput({
        writeOut: (text) => print(text.trimEnd()),
        writeErr: (text) => note(text.trimEnd()),
      })
      .showHelpAfterError('Run it with --help to see what is allowed.')
      .addHelpText(
        'after',
        `
Exit codes:
  0  complete
  1  failed
  2  usage or settings
  3  incomplete: run the same command again to continue
  4  busy: another run reads the brand, or every day that is due

Example:
  $ brand-reports demo`,
      )
  );
}

type AddCommand = (program: CliCommand) => void;

const GROUPS: Record<string, Record<string, () => Promise<AddCommand>>> = {
  'Read the reports:': {
    demo: async () => (await import('./commands/demo.ts')).addDemo,
    init: async () => (await import('./commands/init.ts')).addInit,
    check: async () => (await import('./commands/check.ts')).addCheck,
    sync: async () => (await import('./commands/sync.ts')).addSync,
    status: async () => (await import('./commands/status.ts')).addStatus,
  },
  'Ask:': {
    query: async () => (await import('./commands/query.ts')).addQuery,
    open: async () => (await import('./commands/open.ts')).addOpen,
  },
  'Look after the lake:': {
    verify: async () => (await import('./commands/verify.ts')).addVerify,
    rebuild: async () => (await import('./commands/rebuild.ts')).addRebuild,
    rollback: async () => (await import('./commands/rollback.ts')).addRollback,
    diff: async () => (await import('./commands/diff.ts')).addDiff,
    erase: async () => (await import('./commands/erase.ts')).addErase,
  },
  'Month end:': {
    close: async () => (await import('./commands/close.ts')).addClose,
    statement: async () => (await import('./commands/statement.ts')).addStatement,
  },
  [OTHER_TOOLS]: {
    dbt: async () => (await import('./commands/dbt.ts')).addDbt,
    mcp: async () => (await import('./commands/mcp.ts')).addMcp,
    'serve-sample': async () => (await import('./commands/serve-sample.ts')).addServeSample,
  },
};

export const commands: Record<string, () => Promise<AddCommand>> = Object.assign(
  {},
  ...Object.values(GROUPS),
);

export async function addAll(to: CliCommand): Promise<void> {
  for (const [group, own] of Object.entries(GROUPS)) {
    to.commandsGroup(group);
    for (const load of Object.values(own)) (await load())(to);
  }
}
