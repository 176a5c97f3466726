/** Results are on standard output and everything else on standard error. Only a bug shows where it happened. */
import { CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { tuneHeap } from '../shared/adapters/heap.ts';
import { BrandReportsError, asBrandReportsError, framesOf } from '../shared/base/errors.ts';
import { errorSummary } from '../shared/base/outcome.ts';
import { EXIT } from './exit-codes.ts';
import { note, printJson } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { addAll, commands, emptyProgram } from './program.ts';

tuneHeap();

// A reader such as `head` may close the pipe early: that is not an error, unless the command has work left.
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
    const program = emptyProgram(packageJson.version);
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
