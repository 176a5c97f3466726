/** Copies a lake with its history to another place: a folder or a bucket (docs/restore.md). */
import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import type { Log } from '../../shared/log-events.ts';
import { type CopyOutcome, copyLake } from '../../shared/operations/copy-lake.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { databaseOption, environmentOption, jsonOption, settingsOption } from '../options.ts';
import { count, counted, note, print, printJson } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showLine } from '../progress-line.ts';
import { lineOf } from '../run-progress.ts';
import { lakeAccess, openExistingLake, readSettingsIfAny } from '../run-options.ts';
import { oneLine, styleText } from '../terminal-text.ts';

interface CopyFlags {
  database?: string;
  settings: string;
  environment?: string;
  json?: boolean;
}

const MAX_NAMED = 5;

export function addCopy(program: Command): void {
  const command = program.command('copy');
  command
    .description('copy a lake with its history to another folder or bucket; asks the service nothing')
    .argument('<from>', 'the lake: a folder or s3://bucket/prefix')
    .argument(
      '<to>',
      'an empty folder or s3://bucket/prefix, or a copy of the same lake that was interrupted',
    )
    .addOption(databaseOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(jsonOption('print the outcome as one JSON document'))
    .addHelpText('after', '\nExample:\n  $ brand-reports copy ./lake s3://acme-reports/lake')
    .action(async (from: string, to: string, flags: CopyFlags) => {
      const settings = await readSettingsIfAny(command, flags);
      const { store } = await openExistingLake(from);
      const { database, json } = flags;
      // Until the copy is finished, its format refuses everybody else.
      const access = await lakeAccess(
        { lake: to, ...(database !== undefined && { database }) },
        log,
        (url, of) => openLake(url, { ...of, guarded: (each) => each }),
      );
      const outcome = await untilStopped(undefined, ({ deadline }) =>
        copyLake({ ...access, from: store, reports, settings, deadline }),
      ).finally(() => showLine(''));
      if (json) printJson(outcome);
      else print(copyText(outcome, [from, to], database));
      process.exitCode = EXIT[outcome.status];
    });
}

const log: Log = (event) => {
  const line = lineOf(event);
  if (line === undefined) return;
  if (event.event === 'month_copied' && process.stderr.isTTY) showLine(line);
  else note(line);
};

function copyText(outcome: CopyOutcome, places: readonly string[], database: string | undefined): string {
  const { status, to, ledgers, objects, bytes, copiedObjects, missing } = outcome;
  if (status === 'incomplete')
    return `${styleText('yellow', status)}: to continue, run it again: ${printedCommand('copy', places)}`;
  const size = `${counted(ledgers, 'ledger')}, ${counted(objects, 'object')}, ${count(bytes)} bytes`;
  const lost = missing.length - MAX_NAMED;
  return [
    ledgers === 0
      ? `${styleText('green', status)}: ${oneLine(to)} is a finished copy already; nothing was copied`
      : `${styleText('green', status)}: ${size} in ${oneLine(to)}; ${count(copiedObjects)} of them copied now`,
    ...(missing.length === 0
      ? []
      : [
          `${counted(missing.length, 'object')} that ledgers name ${missing.length === 1 ? 'is' : 'are'} missing, also in ${oneLine(outcome.from)}:`,
          ...missing.slice(0, MAX_NAMED).map((key) => `    ${oneLine(key)}`),
          ...(lost > 0 ? [`    and ${count(lost)} more (--json)`] : []),
        ]),
    `To compare it with itself: ${printedCommand('verify', [], { lake: places[1], database })}`,
  ].join('\n');
}
