import { coverageTable } from '../../shared/catalog/coverage.ts';
import { configError } from '../../shared/base/errors.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { type CliCommand, type SharedFlags, day } from '../options.ts';
import { counted } from '../../shared/base/exact-number.ts';
import { note, print, printJson, printPieces } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { TEXTS, cell, query } from '../query-result.ts';
import { brandNamed, openExistingLake, readSettings, reportNamed } from '../run-options.ts';
import { reviewSettings, reviewText } from '../settings-review.ts';
import { literal } from '../sql-files.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { oneLine } from '../terminal-text.ts';

type DiffFlags = Omit<SharedFlags, 'settings'> & { settings?: string };

export function addDiff(program: CliCommand): void {
  program
    .command('diff')
    .description('show what changed on a day, or what new settings would change')
    .argument('[report]', 'a report or its table, e.g. orders')
    .argument('[day]', 'the day, YYYY-MM-DD', day)
    .option('--brand <name>', 'only this brand (default: each that has the day)')
    .option('--settings <file>', 'list the payouts that these settings would change, and the days to read')
    .takes('lake')
    .option('--json', 'print the rows of the view "changes", or what settings would change, as JSON')
    .example(
      ['diff orders 2026-01-31', 'diff --settings new-settings.jsonc'],
      `An open day grows, and that is no change: the first version that was read whole is what later ones are compared with.
The same as SQL: the views "changes" (each record) and "restatements" (each day).`,
    )
    .action(async (name: string | undefined, of: string | undefined, flags: DiffFlags) => {
      const { brand, lake, json, settings } = flags;
      const { store } = await openExistingLake(lake);
      if (settings !== undefined && name === undefined) {
        const given = await readSettings({ settings });
        if (brand !== undefined) brandNamed(brand, given);
        const review = await reviewSettings(store, given, brand);
        return json ? printJson({ settings, ...review }) : print(reviewText(review, settings));
      }
      if (name === undefined || of === undefined || settings !== undefined)
        throw configError('bad_source', 'Name a report and a day, or new settings alone: --settings FILE.');
      await printChanges(store, reportNamed(name), of, flags);
    });
}

/** Each column that differs as `status: new → void`, and a record that was added or removed as JSON. */
const RECORD = `CASE WHEN columns IS NULL THEN coalesce(before, after) ELSE array_to_string(list_transform(string_split(columns, ', '),
  lambda name: concat(name, ': ', coalesce(before ->> name, 'none'), ' → ', coalesce(after ->> name, 'none'))), ', ') END`;

/** The changes are the newest first. @throws BrandReportsError `config` if an object of the day is missing or damaged */
async function printChanges(
  store: ObjectStore,
  report: ReportDefinition,
  of: string,
  { brand, json }: DiffFlags,
): Promise<void> {
  const isOfDay = `report = ${literal(report.name)} AND dt = ${literal(of)}`;
  const isOwn = brand === undefined ? 'true' : `brand = ${literal(brand)}`;
  const days = `SELECT brand, rows, coalesce(place, 0) AS changes, strftime(anew_by, '%Y-%m-%d') AS anew, ${isOwn} AS is_own
    FROM ${coverageTable.name} WHERE ${isOfDay} AND rows IS NOT NULL ORDER BY brand`;
  // A record whose group changed may itself be as it was.
  const changes = `FROM changes WHERE ${isOfDay} AND ${isOwn} AND (what <> 'altered' OR columns IS NOT NULL OR after IS NULL)`;
  const shown = json
    ? `SELECT * ${changes} ORDER BY brand, place DESC, what DESC, key`
    : `SELECT brand, place, strftime(changed_by, '%Y-%m-%d %H:%M UTC') AS changed_by, cause, what, count(*) AS records, key, ${RECORD} AS record
      ${changes} GROUP BY ALL ORDER BY brand, place DESC, what DESC, key`;
  const lake = { store, reports: { [report.name]: report }, settings: undefined, nowMs: Date.now(), day: of };
  const connection = await createSqlConnection({ ...lake, onGap: () => {} }, `${days}; ${shown}`);
  try {
    const found = (await connection.runAndReadAll(days)).getRowObjectsJson();
    const own = found.filter(({ is_own }) => is_own);
    if (own.length === 0) {
      const others = found.map((each) => cell(each.brand)).join(', ') || 'none';
      const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
      const next = `Compare the flags with what "${printedCommand('status')}" shows`;
      throw configError(
        'day_not_committed',
        `${store.url} has nothing of ${report.name} ${of}${whose}. Brands that have the day: ${others}. ${next}.`,
      );
    }
    await printPieces(TEXTS[json ? 'json' : 'table'](await query(connection, shown)));
    for (const { brand: name, rows, changes: times, anew } of own) {
      const began = anew === null ? '' : `. Its history began anew on ${cell(anew)}`;
      const what = `${counted(Number(rows), 'row')}, ${counted(Number(times), 'change')} since it was closed first`;
      note(oneLine(`(${cell(name)} ${report.table} ${of}: ${what}${began})`));
    }
  } finally {
    connection.closeSync();
  }
}
