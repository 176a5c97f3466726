import { configError } from '../../shared/errors.ts';
import { type EraseOptions, type EraseOutcome, erase, undoErasure } from '../../shared/operations/erase.ts';
import { openQuestions } from '../ask.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, day } from '../options.ts';
import { counted, note, print, printJson } from '../output.ts';
import { type RunFlags, checkOrder, checkRange, writableLake } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

interface EraseFlags extends RunFlags {
  brand: string;
  key?: string;
  undo?: boolean;
  plan?: boolean;
  yes?: boolean;
  queue: string[];
}

export function addErase(program: CliCommand): void {
  program
    .command('erase')
    .description('remove days of a brand everywhere, and never read them again')
    .requiredOption('--brand <name>', 'the brand')
    .option('--from <day>', 'the first day to erase (default: the first day of the brand)', day)
    .option('--to <day>', 'the last day to erase (default: today)', day)
    .option(
      '--key <field=value>',
      'erase only the records whose column, field or role has this value; the days stay',
    )
    .option('--plan', 'show what would be removed; changes nothing')
    .option('--undo', 'let runs read the erased days of the range again; erased data stays erased here')
    .option('--yes', 'erase without confirmation')
    .option(
      '--queue <url>',
      'delete the messages of this SQS queue that name the brand; may be repeated',
      (url: string, urls: string[]) => [...urls, url],
      [],
    )
    .takes('lake', 'database', 'settings', 'environment')
    .option('--json', 'print what was removed, and what remains, as one JSON document')
    .example([
      'erase --brand acme --from 2026-01-01 --to 2026-01-31 --plan',
      'erase --brand acme --key customer_id=8841 --yes',
    ])
    .action(async (flags: EraseFlags) => {
      const options = await eraseOptions(flags);
      await confirm(flags);
      const outcome = await (flags.undo ? undoErasure(options) : erase(options));
      const remains = [...outcome.remains, ...(await eraseQueues(flags))];
      if (!flags.plan) await rewriteDatabase(options.lake, options.settings);
      if (flags.json) printJson({ ...outcome, remains });
      else print(outcomeText({ ...outcome, remains }));
      process.exitCode =
        outcome.status === 'busy' || outcome.status === 'incomplete' ? EXIT[outcome.status] : EXIT.complete;
    });
}

async function eraseOptions(flags: EraseFlags): Promise<EraseOptions> {
  const { brand, from, to, key, plan = false } = flags;
  const lake = await writableLake(flags);
  if (lake.settings) checkRange(flags, lake.settings);
  else checkOrder(from, to);
  const [, field = '', value = ''] = /^([^=]+)=(.+)$/s.exec(key ?? '') ?? [];
  if (key !== undefined && (field === '' || flags.undo))
    throw configError(
      'bad_key',
      `--key "${key}" is not FIELD=VALUE, e.g. customer_id=8841, or it was given with --undo. Correct it, or leave it out.`,
    );
  return {
    ...lake,
    ...{ brand, from, to, plans: plan },
    ...(key !== undefined && { records: { field, value } }),
  };
}

/** @throws BrandReportsError `config` if nobody has confirmed it */
async function confirm({ brand, plan, undo, yes }: EraseFlags): Promise<void> {
  if (plan || undo || yes) return;
  if (!process.stdin.isTTY)
    throw configError(
      'not_confirmed',
      'Nothing was erased: without a terminal, add --yes. To see what would be removed, add --plan.',
    );
  const questions = openQuestions();
  const typed = await questions
    .ask(`This cannot be undone. Type the name of the brand (${brand}) to erase`, 'visible')
    .finally(() => questions.close());
  if (typed !== brand)
    throw configError('not_confirmed', `"${typed}" is not "${brand}". Nothing was erased.`);
}

/** @returns lines about messages that remain */
async function eraseQueues({ queue, brand, lake, plan, undo }: EraseFlags): Promise<string[]> {
  const isLeft = plan || queue.length === 0;
  if (isLeft && !undo && lake.startsWith('s3://'))
    return ['messages in the queues of the stack that name the brand: name each queue with --queue URL'];
  if (isLeft || undo) return [];
  const { eraseMessages } = await import('../../shared/adapters/aws/erase-messages.ts');
  for (const url of queue) note(`${counted(await eraseMessages(url, brand), 'message')} deleted from ${url}`);
  return [];
}

function outcomeText({ status, brand, from, to, days, removed, remains }: EraseOutcome): string {
  const range = `${brand} ${from} to ${to}`;
  if (status === 'busy')
    return `busy: a run is reading a day of ${range}. Nothing more was erased. Run the same command again after that run.`;
  if (status === 'undone')
    return `${styleText('green', 'done')}: runs read the erased days of ${range} again by the normal rules.`;
  const head = status === 'planned' ? 'would be removed' : 'removed';
  const amounts = Object.entries(removed).map(([kind, amount]) => ({ [head]: kind, ...amount }));
  const again = days?.filter(({ isReread }) => isReread) ?? [];
  return [
    `${range}: ${days ? `records on ${counted(days.length, 'day')}` : 'all days'}`,
    '',
    amounts.length > 0 ? table(amounts, Number.POSITIVE_INFINITY) : `${head}: nothing`,
    ...(again.length > 0
      ? [
          '',
          'These days will be read again. That restores the records unless the service erases them first:',
          ...again.map(({ report, day }) => `  ${report} ${day}`),
        ]
      : []),
    '',
    'Not removed:',
    ...remains.map((what) => `- ${what}`),
    '',
    status === 'incomplete'
      ? 'incomplete: a run wrote data at the same time. Run the same command again.'
      : styleText('green', status),
  ].join('\n');
}
