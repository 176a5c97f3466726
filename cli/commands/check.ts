import { type BrandCheck, type CheckOutcome, runCheck } from '../../shared/check/check.ts';
import type { Finding } from '../../shared/check/finding.ts';
import { EXIT } from '../exit-codes.ts';
import { type RunFlags, createRunOptions } from '../run-options.ts';
import type { CliCommand } from '../options.ts';
import { print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { showProgress } from '../progress.ts';
import { oneLine, styleText } from '../terminal-text.ts';

export function addCheck(program: CliCommand): void {
  program
    .command('check')
    .description('compare the settings with what the service shows; write nothing')
    .argument('[report...]', 'reports or their tables, e.g. orders (default: every enabled report)')
    .takes('brand', 'lake', 'settings', 'credentials', 'now')
    .option('--json', 'print the findings as one JSON document')
    .example('check --brand acme')
    .action(async (reports: string[], flags: RunFlags) => {
      const progress = showProgress();
      const outcome = await runCheck(await createRunOptions(flags, reports, progress.log)).finally(
        progress.end,
      );
      if (flags.json) printJson(outcome);
      else print(checkText(outcome));
      process.exitCode = outcome.status === 'ok' ? EXIT.complete : EXIT.failed;
    });
}

function checkText({ status, brands }: CheckOutcome): string {
  const verdict =
    status === 'ok'
      ? `${styleText('green', 'ok')}. Next: ${printedCommand('sync')}`
      : `${styleText('red', 'failed')}: correct what is marked ✗ or "required"`;
  return [...brands.map(brandText), verdict].join('\n\n');
}

export function brandText({ brand, findings, reports }: BrandCheck): string {
  return [
    styleText('bold', brand),
    ...findings.map(line),
    ...reports.flatMap(({ report, findings }) => [
      `  ${report}`,
      ...findings.map((found) => `  ${line(found)}`),
    ]),
  ].join('\n');
}

const MARKS = {
  ok: styleText('green', '✓'),
  warning: styleText('yellow', '!'),
  undecided: `${styleText('red', '!')} required:`,
  error: styleText('red', '✗'),
};

function line({ level, message }: Finding): string {
  return `  ${MARKS[level]} ${oneLine(withRunnableCommands(message))}`;
}
