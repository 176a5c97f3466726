/** Builds the program of the command line: its commands, each loaded only when it runs, and the help that they share. */
import { CliCommand } from './options.ts';
import { note, print } from './output.ts';
import { rememberFlags } from './printed-command.ts';

/** The program without its commands. */
export function emptyProgram(version: string): CliCommand {
  return new CliCommand('brand-reports')
    .description("Copies a brand's affiliate reports into dated Parquet partitions, and answers SQL on them")
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .hook('preAction', (_program, command) => rememberFlags(command))
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: (text) => note(text.trimEnd()) })
    .showHelpAfterError('Run it with --help to see what is allowed.')
    .addHelpText(
      'after',
      `
Exit codes:
  0  complete
  1  failed
  2  usage or settings
  3  incomplete: run the same command again to continue
  4  busy: every day that is due is being read by another run

Example:
  $ brand-reports demo`,
    );
}

/** What adds each command, by its name. */
export const commands: Record<string, () => Promise<(program: CliCommand) => void>> = {
  demo: async () => (await import('./commands/demo.ts')).addDemo,
  init: async () => (await import('./commands/init.ts')).addInit,
  sync: async () => (await import('./commands/sync.ts')).addSync,
  check: async () => (await import('./commands/check.ts')).addCheck,
  status: async () => (await import('./commands/status.ts')).addStatus,
  query: async () => (await import('./commands/query.ts')).addQuery,
  open: async () => (await import('./commands/open.ts')).addOpen,
  dbt: async () => (await import('./commands/dbt.ts')).addDbt,
  contract: async () => (await import('./commands/contract.ts')).addContract,
  diff: async () => (await import('./commands/diff.ts')).addDiff,
  'since-close': async () => (await import('./commands/since-close.ts')).addSinceClose,
  statement: async () => (await import('./commands/statement.ts')).addStatement,
  mcp: async () => (await import('./commands/mcp.ts')).addMcp,
  reconcile: async () => (await import('./commands/reconcile.ts')).addReconcile,
  verify: async () => (await import('./commands/verify.ts')).addVerify,
  rollback: async () => (await import('./commands/rollback.ts')).addRollback,
  rebuild: async () => (await import('./commands/rebuild.ts')).addRebuild,
  close: async () => (await import('./commands/close.ts')).addClose,
  closes: async () => (await import('./commands/close.ts')).addCloses,
  erase: async () => (await import('./commands/erase.ts')).addErase,
  copy: async () => (await import('./commands/copy.ts')).addCopy,
  'serve-sample': async () => (await import('./commands/serve-sample.ts')).addServeSample,
  completion: async () => {
    const { addCompletion } = await import('./commands/completion.ts');
    return (to) => addCompletion(to, addAll);
  },
};

/** Adds every command. */
export async function addAll(to: CliCommand): Promise<void> {
  for (const load of Object.values(commands)) (await load())(to);
}
