import { configError } from '../../shared/base/errors.ts';
import { type EraseOptions, type EraseOutcome, erase, undoErasure } from '../../shared/operations/erase.ts';
import { KINDS } from '../../shared/operations/erased-objects.ts';
import { erasedSums } from '../close-sums.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, day } from '../options.ts';
import { print, printJson } from '../output.ts';
import { type RunFlags, checkOrder, reportNamed, runningNow, writableLake } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

interface EraseFlags extends RunFlags {
  brand: string;
  undo?: boolean;
  plan?: boolean;
  yes?: boolean;
}

export function addErase(program: CliCommand): void {
  program
    .command('erase')
    .description('remove days of a brand everywhere, and never read them again')
    .argument('[report...]', 'reports or their tables, e.g. orders (default: every report)')
    .requiredOption('--brand <name>', 'the brand')
    .option('--from <day>', 'the first day to erase (default: the first day of the brand)', day)
    .option('--to <day>', 'the last day to erase (default: today)', day)
    .option('--plan', 'show what would be removed; changes nothing')
    .option('--undo', 'let runs read the erased days of the range again; erased data stays erased here')
    .option('--yes', 'erase; this cannot be undone')
    .takes('lake', 'database', 'settings')
    .option('--json', 'print what was searched, removed and left, as one JSON document')
    .example([
      'erase --brand acme --from 2026-01-01 --to 2026-01-31 --plan',
      'erase orders transactions --brand acme --from 2026-01-15 --to 2026-01-15 --yes',
    ])
    .action(async (names: string[], flags: EraseFlags) => {
      const options = await eraseOptions(names, flags);
      if (!flags.plan && !flags.undo && !flags.yes)
        throw configError(
          'not_confirmed',
          'Nothing was erased. To see what would be: --plan. To erase it: --yes',
        );
      const outcome = await (flags.undo ? undoErasure(options) : erase(options));
      const isCurrent = flags.plan || (await rewriteDatabase(options.lake, options.settings));
      // The file that could not be replaced may have tables with erased values.
      const status = outcome.status === 'complete' && !isCurrent ? 'incomplete' : outcome.status;
      if (flags.json) printJson({ ...outcome, status });
      else if (status === 'busy')
        print(
          `busy: ${await runningNow(options, [flags.brand])}. Nothing more was erased. Try again after it.`,
        );
      else print(outcomeText({ ...outcome, status }));
      process.exitCode = status === 'busy' || status === 'incomplete' ? EXIT[status] : EXIT.complete;
    });
}

async function eraseOptions(names: readonly string[], flags: EraseFlags): Promise<EraseOptions> {
  const { brand, from, to, plan = false } = flags;
  const only = names.length > 0 ? names.map((name) => reportNamed(name).name) : undefined;
  checkOrder(from, to);
  const access = await writableLake(flags);
  const sums = erasedSums(access.lake.store, access.reports);
  return { ...access, brand, only, from, to, plans: plan, erasedSums: sums };
}

function outcomeText({ brand, from, to, reports, ...outcome }: EraseOutcome): string {
  const { status, searched, removed, left, remains } = outcome;
  const range = `${brand} ${from} to ${to}`;
  if (status === 'undone')
    return `${styleText('green', 'done')}: runs read the erased days of ${range} again by the normal rules.`;
  const isPlan = status === 'planned';
  const rows = Object.entries(KINDS).map(([kind, what]) => ({
    kind,
    searched: searched[kind]?.objects ?? 0,
    [isPlan ? 'would be removed' : 'removed']: removed[kind]?.objects ?? 0,
    [isPlan ? 'would be left' : 'left']: left[kind]?.objects ?? 0,
    'what it is': what,
  }));
  return [
    `${range}: ${reports.join(', ')}`,
    '',
    table(rows),
    '',
    'Not removed:',
    ...remains.map((what) => `- ${what}`),
    '',
    status === 'incomplete'
      ? 'incomplete: a run wrote data at the same time, or a file could not be replaced. Run the same command again.'
      : styleText('green', status),
  ].join('\n');
}
