import {
  type DayVersions,
  type RollbackOutcome,
  listVersions,
  rollBack,
} from '../../shared/operations/rollback.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, type SharedFlags, day } from '../options.ts';
import { counted } from '../../shared/base/exact-number.ts';
import { note, print, printJson } from '../output.ts';
import { reportNamed, runningNow, writableLake } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';
import { table } from '../text-table.ts';

interface RollbackFlags extends SharedFlags {
  to?: string;
}

export function addRollback(program: CliCommand): void {
  program
    .command('rollback')
    .description('if the newest version of a day is wrong, publish an older one')
    .argument('<report>', 'a report or its table, e.g. orders')
    .argument('<day>', 'the day, YYYY-MM-DD', day)
    .option('--to <snapshot>', 'the version to go back to (default: list the versions that are kept)')
    .option('--brand <name>', 'the brand (default: the only one that has the day)')
    .takes('lake', 'database', 'settings')
    .option('--json', 'print the versions, or what was done, as one JSON document')
    .example(
      ['rollback order_list 2026-01-31', 'rollback order_list 2026-01-31 --to 20260202t061500-4f1c9a2b7d60'],
      `The version holds until a reading finds other content: the refresh policy goes on, and a settled day stays as it is.
How long versions are kept: the setting snapshotRetentionDays.`,
    )
    .action(async (name: string, of: string, flags: RollbackFlags) => {
      const { brand } = flags;
      const options = { ...(await writableLake(flags)), report: reportNamed(name), day: of, brand };
      if (flags.to === undefined) {
        const listed = await listVersions(options);
        if (flags.json) printJson(listed);
        else print(versionsText(listed));
        return;
      }
      const outcome = await rollBack(options, flags.to);
      await rewriteDatabase(options.lake, options.settings);
      if (flags.json) printJson(outcome);
      else if (outcome.status === 'busy')
        note(`busy: ${await runningNow(options, [outcome.brand])}. Nothing was changed. Try again after it.`);
      else print(doneText(outcome));
      if (options.settings === undefined && outcome.status === 'complete')
        note('coverage follows with the next run: no settings were found (--settings)');
      process.exitCode = outcome.status === 'busy' ? EXIT.busy : EXIT.complete;
    });
}

function versionsText({ brand, report, day: of, versions }: DayVersions): string {
  const cells = versions.map(({ snapshot, from, to, rows, open }) => ({
    snapshot,
    'found by queries from': from ?? 'unknown',
    until: to ?? 'current',
    rows: rows ?? 'unreadable',
    read: open === null ? 'not known' : open ? 'while the day was open' : 'whole',
  }));
  return [`${brand} ${report} ${of}: ${counted(versions.length, 'version')} kept`, '', table(cells)].join(
    '\n',
  );
}

function doneText(outcome: Extract<RollbackOutcome, { status: 'complete' }>): string {
  const { brand, report, day: of, snapshot, rows, replaced } = outcome;
  return [
    `${styleText('green', 'done')}: ${brand} ${report} ${of} is version ${snapshot} again, with ${counted(rows, 'row')}`,
    `It replaces ${replaced.snapshot} (${counted(replaced.rows, 'row')}), which is kept. The next reading with other content replaces it.`,
  ].join('\n');
}
