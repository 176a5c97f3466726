/**
 * Starts the command line: builds the program from its commands, and turns every error into one message on standard error and
 * an exit code. Each command lives in commands/ and adds itself. Commands print their result on standard output and everything
 * else on standard error, so that output can be piped. An expected error (a BrandReportsError) shows its message alone; any
 * other error is a bug and shows where it happened.
 */
import { Command, CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { tuneHeap } from '../shared/adapters/heap.ts';
import { BrandReportsError, asBrandReportsError, framesOf } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { EXIT } from './exit-codes.ts';
import { note, print, printJson } from './output.ts';
import { rememberFlags, withRunnableCommands } from './printed-command.ts';

tuneHeap();

const program = new Command('brand-reports')
  .description("Copies a brand's affiliate reports into dated Parquet partitions, and answers SQL on them")
  .version(packageJson.version, '--version', 'print the version')
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

const commands: Record<string, () => Promise<(program: Command) => void>> = {
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
  repair: async () => (await import('./commands/repair.ts')).addRepair,
  'serve-sample': async () => (await import('./commands/serve-sample.ts')).addServeSample,
  completion: async () => {
    const { addCompletion } = await import('./commands/completion.ts');
    return (to) => addCompletion(to, addAll);
  },
};

async function addAll(to: Command): Promise<void> {
  for (const load of Object.values(commands)) (await load())(to);
}

// A reader such as `head` may close the pipe early. That is an error only if the command has work left.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? (process.exitCode ?? EXIT.complete) : EXIT.failed);
});

// If nobody reads the notes any longer, the work goes on.
process.stderr.on('error', () => {});
// Node would print the message unescaped, with characters that steer a terminal.
process.on('uncaughtException', (thrown) => process.exit(failure(thrown)));

// Not awaited: Node would print its own warning about a command that never ends.
void run();

async function run(): Promise<void> {
  const fail = () => {
    const message =
      'the command stopped without finishing, which is a bug. Next step: run it again, and report it.';
    process.exitCode = failure(new BrandReportsError('bug', 'never_ends', message));
  };
  // Without this, Node would end with exit code 0.
  process.once('beforeExit', fail);
  try {
    // Only the requested command is loaded: loading the libraries of all commands would take most of the time of a small run.
    const [, , name = ''] = process.argv;
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
    await (load ? (await load())(program) : addAll(program));
    await program.parseAsync();
  } catch (thrown) {
    process.exitCode = thrown instanceof CommanderError ? usage(thrown) : failure(thrown);
  } finally {
    process.off('beforeExit', fail);
  }
}

/** Commander has already printed what is wrong; `--help` and `--version` are not errors. */
function usage({ exitCode }: CommanderError): number {
  return exitCode === 0 ? EXIT.complete : EXIT.usage;
}

function failure(thrown: unknown): number {
  const error = asBrandReportsError(thrown);
  note(`error: ${withRunnableCommands(error.message)}`);
  if (!(thrown instanceof BrandReportsError) && thrown instanceof Error) note(framesOf(thrown));
  if (process.argv.includes('--json'))
    printJson({ status: 'failed', reports: [], error: errorSummary(error) });
  return error.kind === 'config' ? EXIT.usage : EXIT.failed;
}
