import { type DamagedDocument, type RepairOutcome, repairLake } from '../../shared/repair/index.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { counted, print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { lakeAccess } from '../run-options.ts';
import { oneLine, styleText } from '../terminal-text.ts';

export function addRepair(program: CliCommand): void {
  program
    .command('repair')
    .description('find documents that cannot be parsed; --apply restores them')
    .takes('lake', 'database')
    .option('--apply', 'rebuild them from the rest of the lake; the damaged bytes are copied first')
    .option('--json', 'print what was found and done as one JSON document')
    .example(['repair', 'repair --apply'])
    .action(async ({ apply = false, json, ...flags }: SharedFlags & { apply?: boolean }) => {
      const access = await lakeAccess(flags);
      const outcome = await repairLake({ ...access, reports, apply });
      // Without settings `next_due` of coverage is NULL until the next sync.
      if (apply) await rewriteDatabase(access.lake, undefined);
      if (json) printJson(outcome);
      else print(repairText(outcome, apply));
      process.exitCode = outcome.status === 'damaged' ? EXIT.failed : EXIT.complete;
    });
}

function repairText({ status, documents }: RepairOutcome, apply: boolean): string {
  if (status === 'ok') return `${styleText('green', 'ok')}: every document can be parsed`;
  const damaged = `${counted(documents.length, 'document')} cannot be parsed`;
  const repaired = `${styleText('green', 'repaired')}: run: ${printedCommand('sync')}`;
  const left = apply
    ? `${styleText('red', 'failed')}: read the lines marked ✗, then run repair again`
    : `${styleText('red', 'damaged')}: nothing was changed. To apply the proposals: ${printedCommand('repair', ['--apply'])}`;
  return [damaged, ...documents.map(documentText), status === 'repaired' ? repaired : left].join('\n\n');
}

function documentText({ key, problem, remedy, outcome, copy, notes }: DamagedDocument): string {
  const isRepaired = outcome === 'repaired';
  const mark = isRepaired ? styleText('green', '✓') : styleText('red', '✗');
  return [
    `${mark} ${styleText('bold', key)}`,
    `    wrong: ${oneLine(withRunnableCommands(problem))}`,
    `    ${isRepaired ? 'done' : 'proposed'}: ${remedy}`,
    ...(copy === undefined ? [] : [`    copy of the damaged bytes: ${oneLine(copy)}`]),
    ...notes.map((note) => `    ${oneLine(note)}`),
  ].join('\n');
}
