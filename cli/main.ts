import { Command, CommanderError } from 'commander';
import { BrandReportsError, asBrandReportsError } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { addCheck } from './commands/check.ts';
import { addDemo } from './commands/demo.ts';
import { addQuery } from './commands/query.ts';
import { addServeSample } from './commands/serve-sample.ts';
import { addStatus } from './commands/status.ts';
import { addSync } from './commands/sync.ts';
import { addVerify } from './commands/verify.ts';
import { EXIT } from './exit-codes.ts';
import { note, printJson } from './output.ts';

const program = new Command('brand-reports')
  .description("Copies a brand's affiliate reports into dated Parquet partitions, and answers SQL on them")
  .exitOverride()
  .showHelpAfterError('Add --help for what is allowed.')
  .addHelpText(
    'after',
    `
Exit codes:
  0  complete
  1  failed
  2  usage or settings
  3  incomplete: run again to go on
  4  busy: other runs hold every day that is due

Example:
  $ brand-reports demo`,
  );
for (const add of [addDemo, addSync, addCheck, addStatus, addQuery, addVerify, addServeSample]) add(program);

// Whoever reads the output may have seen enough of it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.complete : EXIT.failed);
});

try {
  await program.parseAsync();
} catch (thrown) {
  process.exitCode = thrown instanceof CommanderError ? usage(thrown) : failure(thrown);
}

/** Commander has said what is wrong already; `--help` is no error. */
function usage({ exitCode }: CommanderError): number {
  return exitCode === 0 ? EXIT.complete : EXIT.usage;
}

function failure(thrown: unknown): number {
  const error = asBrandReportsError(thrown);
  note(`error: ${error.message}`);
  if (!(thrown instanceof BrandReportsError) && thrown instanceof Error) note(frames(thrown));
  if (process.argv.includes('--json'))
    printJson({ status: 'failed', reports: [], error: errorSummary(error) });
  return error.kind === 'config' ? EXIT.usage : EXIT.failed;
}

/** Where a bug showed itself, without the message. */
function frames({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^ {4}at /.test(line))
    .join('\n');
}
