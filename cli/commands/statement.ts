import { writeFile } from 'node:fs/promises';
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { Option } from 'commander';
import { writeWhole } from '../new-file.ts';
import { type CliCommand, type SharedFlags, month } from '../options.ts';
import { joined, note, printPieces } from '../output.ts';
import { formatOfFile } from '../query-file.ts';
import { TEXTS, query } from '../query-result.ts';
import { writableLake } from '../run-options.ts';
import { literal } from '../sql-files.ts';
import { statementPage } from '../statement-page.ts';
import { type Statement, TOTALS_SQL, entriesSql, inertCell, readStatements } from '../statement.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { csvOutput } from './query.ts';

interface StatementFlags extends SharedFlags {
  month: string;
  publisher?: string;
  format?: Format;
  output?: string;
}

const FORMATS = {
  table: statementTables,
  csv: async function* (_statements: readonly Statement[], connection: DuckDBConnection) {
    const result = await query(connection, entriesSql());
    yield* TEXTS.csv({ ...result, blocks: inert(result.blocks) });
  },
  json: jsonDocument,
  html: statementPage,
};
type Format = keyof typeof FORMATS;

async function* inert(blocks: AsyncIterable<Json[][]>): AsyncGenerator<Json[][]> {
  for await (const rows of blocks) yield rows.map((row) => row.map(inertCell));
}
const FILE_FORMATS = ['csv', 'json', 'html'] as const;

export function addStatement(program: CliCommand): void {
  program
    .command('statement')
    .description('show what each publisher gets for a month, order by order')
    .requiredOption('--month <month>', 'the month, YYYY-MM', month)
    .option('--brand <name>', 'only this brand (default: each that has days of the month)')
    .option('--publisher <id>', 'only this publisher')
    .addOption(
      new Option('--format <format>', 'default: table, which has sums only').choices(Object.keys(FORMATS)),
    )
    .option('--output <file>', 'write to a file; its ending is the format: .csv, .json or .html')
    .takes('lake', 'settings')
    .example(
      ['statement --month 2026-10', 'statement --month 2026-10 --publisher 1012 --output statement.html'],
      'The statement of a closed month is the same as long as its close exists.',
    )
    .action(async (flags: StatementFlags) => {
      const { month: of, brand, publisher, output } = flags;
      const format = flags.format ?? (output === undefined ? 'table' : formatOfFile(output, FILE_FORMATS));
      const access = await writableLake(flags);
      const options = { ...access, month: of, brand };
      const { connection, statements } = await readStatements(options, publisher);
      try {
        const pieces = FORMATS[format](statements, connection);
        // CSV has no place for notes.
        if (format === 'csv')
          for (const { brand, notes } of statements) note(oneLine(`${brand}: ${notes.join('; ')}`));
        if (output === undefined) await printPieces(pieces, ...(format === 'csv' ? [csvOutput()] : []));
        else
          await writeWhole(output, access.lake.store.localFolder, (path) =>
            writeFile(path, joined(pieces), { flag: 'wx' }),
          );
      } finally {
        connection.closeSync();
      }
    });
}

export async function* statementTables(
  statements: readonly Statement[],
  connection: DuckDBConnection,
): AsyncGenerator<string> {
  for (const { brand, month: of, publisher, notes } of statements) {
    yield `${[styleText('bold', `${brand} ${of}`), ...notes].join('\n')}\n\n`;
    const wanted = publisher === null ? 'true' : "publishers = 'one'";
    const sql = `SELECT * EXCLUDE (brand, publishers) REPLACE (CASE publishers WHEN 'all' THEN 'all' ELSE publisher_id END AS publisher_id)
FROM (${TOTALS_SQL}) WHERE ${wanted} AND brand = ${literal(brand)}`;
    yield* TEXTS.table(await query(connection, sql));
    yield '\n';
  }
}

async function* jsonDocument(statements: readonly Statement[]): AsyncGenerator<string> {
  const whole = statements.map(async ({ publishers, ...head }) => {
    return { ...head, publishers: await Array.fromAsync(publishers) };
  });
  yield `${JSON.stringify({ statements: await Promise.all(whole) })}\n`;
}
