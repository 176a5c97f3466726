import { openLake } from '../../shared/adapters/open-lake.ts';
import type { Log } from '../../shared/log-events.ts';
import { type CopyOutcome, copyLake } from '../../shared/operations/copy-lake.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { count, counted, note, print, printJson } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showLine } from '../progress-line.ts';
import { lineOf } from '../run-progress.ts';
import { lakeAccess, openExistingLake, readSettingsIfAny } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';

/** The number of objects between two updates of the progress line. */
const SHOWN_EVERY = 100;

export function addCopy(program: CliCommand): void {
  program
    .command('copy')
    .description('copy a lake with its history to another folder or bucket; sends no request to the service')
    .argument('<from>', 'the lake: a folder or s3://bucket/prefix')
    .argument('<to>', 'an empty place, or the copy of this lake that was interrupted')
    .takes('database', 'settings', 'environment')
    .option('--json', 'print the outcome as one JSON document')
    .example('copy ./lake s3://acme-reports/lake')
    .action(async (from: string, to: string, { json, ...flags }: Omit<SharedFlags, 'lake'>) => {
      const settings = await readSettingsIfAny(flags);
      const { store } = await openExistingLake(from);
      // The format of an unfinished copy makes every other command refuse it.
      const open: typeof openLake = (url, options) => openLake(url, options, (unguarded) => unguarded);
      const access = await lakeAccess({ ...flags, lake: to }, progressLog(), open);
      const copying = copyLake({ ...access, from: store, reports, settings });
      const outcome = await copying.finally(() => showLine(''));
      if (json) printJson(outcome);
      else print(copyText(outcome, [from, to], flags.database));
      process.exitCode = EXIT[outcome.status];
    });
}

function progressLog(): Log {
  let [objects, bytes] = [0, 0];
  return (event) => {
    if (event.event !== 'object_copied') return note(lineOf(event) ?? event.event);
    objects += 1;
    bytes += event.bytes;
    const show = process.stderr.isTTY ? showLine : note;
    if (objects % SHOWN_EVERY === 0)
      show(`${count(objects)} objects copied, ${count(bytes)} bytes: ${event.key}`);
  };
}

function copyText(
  { status, objects, bytes, copiedObjects }: CopyOutcome,
  places: readonly [from: string, to: string],
  database: string | undefined,
): string {
  if (status === 'incomplete')
    return `${styleText('yellow', status)}. To continue, run it again: ${printedCommand('copy', places)}`;
  const size = `${counted(objects, 'object')} of ${count(bytes)} bytes, ${count(copiedObjects)} of them copied now`;
  return `${styleText('green', status)}: ${objects === 0 ? 'the copy was finished before' : size}.
To compare its files with its ledgers: ${printedCommand('verify', [], { lake: places[1], database })}`;
}
