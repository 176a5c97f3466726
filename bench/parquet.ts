/**
 * Compares the project's Parquet writer (hyparquet-writer) with parquetjs-lite: CPU, time, memory, file size, and
 * whether DuckDB reads back exactly what was written. Each writer runs in its own process, so that neither pays for
 * the other's memory. `npm run bench:parquet [rows]`
 */
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import parquetjs from 'parquetjs-lite/parquet.js';
import { type Column, type ColumnType, typeSpec } from '../shared/column-types.ts';
import type { Row } from '../shared/lake/table/columns.ts';
import { writeParquet } from '../shared/lake/table/parquet.ts';
import { ROW_GROUP_ROWS } from '../shared/lake/table/row-group-limits.ts';

type WriteFile = (path: string, rows: Iterable<Row>) => Promise<void>;

const columns: Column[] = [
  { name: 'transid', type: 'string' },
  { name: 'publisher_id', type: 'string' },
  { name: 'publisher_name', type: 'string' },
  { name: 'channel_id', type: 'string' },
  { name: 'status', type: 'string' },
  { name: 'country', type: 'string' },
  { name: 'sku', type: 'string' },
  { name: 'track_url', type: 'string' },
  { name: 'items', type: 'string' },
  { name: 'note', type: 'string' },
  { name: 'click_id', type: 'bigint' },
  { name: 'quantity', type: 'bigint' },
  { name: 'clicks', type: 'bigint' },
  { name: 'amount', type: 'decimal(38,9)' },
  { name: 'commission', type: 'decimal(38,9)' },
  { name: 'is_new', type: 'boolean' },
  { name: 'order_date', type: 'date' },
  { name: 'created_time', type: 'timestamp' },
  { name: '_rescued', type: 'string' },
  { name: '_synced_at', type: 'timestamp' },
];

const EMOJI_NAME = '😀 shop';
/**
 * In UTF-16 the name with the emoji sorts before the other name, in UTF-8 after it: wrong statistics would hide the
 * row.
 */
const probes = [EMOJI_NAME, '\uFF21 fullwidth shop'].map(
  (publisher_name, index): Row => ({
    ...makeRow(index),
    publisher_name,
    click_id: 9_007_199_254_740_993n,
    amount: 12_345_678_901_234_567_890_123_456_789n,
  }),
);

const writers: Record<string, WriteFile> = {
  'hyparquet-writer': async (path, rows) => {
    const stream = createWriteStream(path);
    const file = writeParquet(
      {
        write: (bytes) =>
          new Promise((resolve, reject) =>
            stream.write(bytes, (error) => (error ? reject(error) : resolve())),
          ),
        finish: () => finished(stream.end()),
        abort: async () => void stream.destroy(),
      },
      columns,
    );
    for (const row of rows) await file.append(row);
    await file.finish();
  },
  'parquetjs-lite': async (path, rows) => {
    const fields = columns.map(({ name, type }) => [
      name,
      { type: parquetjsType(type), optional: true, compression: 'GZIP' },
    ]);
    const schema = new parquetjs.ParquetSchema(Object.fromEntries(fields));
    const file = await parquetjs.ParquetWriter.openFile(schema, path, { rowGroupSize: ROW_GROUP_ROWS });
    for (const row of rows) {
      const fields = columns.map(({ name, type }) => [name, parquetjsValue(type, row[name])]);
      await file.appendRow(Object.fromEntries(fields));
    }
    await file.close();
  },
};

/** parquetjs-lite has no decimals; floating point is the closest type. */
function parquetjsType(type: ColumnType): string {
  const { element } = typeSpec(type).parquet;
  return element.converted_type === 'DECIMAL' ? 'DOUBLE' : (element.converted_type ?? element.type);
}

function parquetjsValue(type: ColumnType, value: Row[string]): Row[string] {
  return type.startsWith('decimal') && typeof value === 'bigint'
    ? Number(typeSpec(type).texts(value)[0])
    : value;
}

function makeRow(index: number): Row {
  const scattered = (index * 2_654_435_761) % 4_294_967_296;
  const second = new Date(Date.UTC(2026, 0, 31) + (index % 86_400) * 1_000);
  return {
    transid: String(700_000_000_000 + index * 17),
    publisher_id: String(10_000 + (scattered % 500)),
    publisher_name: `Publisher ${scattered % 500} ☕`,
    channel_id: String(scattered % 40),
    status: ['new', 'void', 'effective'][scattered % 3],
    country: ['US', 'DE', 'GB', 'FR', 'JP'][scattered % 5],
    sku: `B0${(scattered % 90_000).toString(36).toUpperCase().padStart(8, '0')}`,
    track_url: `https://track.example/c/${scattered.toString(16)}?p=${scattered % 500}`,
    items: `[{"sku":"B0${scattered % 9_000}","price":${(scattered % 10_000) / 100}}]`,
    note: index % 50 === 0 ? `order ${index} was changed` : null,
    click_id: 9_007_199_254_740_993n + BigInt(scattered),
    quantity: BigInt(1 + (scattered % 4)),
    clicks: BigInt(scattered % 1_000),
    amount: BigInt(scattered % 50_000) * 10_000_000n,
    commission: BigInt(scattered % 5_000) * 10_000_000n,
    is_new: scattered % 3 === 0,
    order_date: new Date(Date.UTC(2026, 0, 31)),
    created_time: second,
    _rescued: null,
    _synced_at: new Date(Date.UTC(2026, 1, 1, 6)),
  };
}

function* makeRows(count: number): Generator<Row> {
  for (let index = 0; index < count; index += 1) yield makeRow(index);
}

interface Cost {
  cpuSeconds: number;
  wallSeconds: number;
  peakMegabytes: number;
}

/** Runs in the child: writes both files. @returns the cost of the large file, without the cost of creating its rows */
async function measure(write: WriteFile, folder: string, count: number): Promise<Cost> {
  const making = await clock(async () => {
    for (const row of makeRows(count)) if (row.transid === '') throw new Error('every row has a transid');
  });
  const writing = await clock(() => write(join(folder, 'rows.parquet'), makeRows(count)));
  const peakMegabytes = process.resourceUsage().maxRSS / 1_024;
  await write(join(folder, 'probes.parquet'), probes);
  return {
    cpuSeconds: writing.cpuSeconds - making.cpuSeconds,
    wallSeconds: writing.wallSeconds - making.wallSeconds,
    peakMegabytes,
  };
}

async function clock(work: () => Promise<void>): Promise<{ cpuSeconds: number; wallSeconds: number }> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuSeconds: (user + system) / 1e6, wallSeconds: (performance.now() - startedMs) / 1_000 };
}

interface Found {
  filter: string;
  integer: string;
  decimal: string;
}

async function readProbes(folder: string): Promise<Found> {
  // Loaded late, so that the writers' processes do not load it.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const file = `'${join(folder, 'probes.parquet')}'`;
  const reader = await connection.runAndReadAll(
    `select (select count(*) from ${file} where publisher_name = '${EMOJI_NAME}') || ' of 1' as filter,
            any_value(click_id)::varchar as integer, any_value(amount)::varchar as decimal from ${file}`,
  );
  const [row] = reader.getRowObjectsJson();
  connection.closeSync();
  const text = (name: keyof Found) => (typeof row?.[name] === 'string' ? row[name] : 'nothing');
  return { filter: text('filter'), integer: text('integer'), decimal: text('decimal') };
}

async function compare(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-parquet-'));
  try {
    const results: Record<string, string | number>[] = [];
    for (const name of Object.keys(writers)) {
      const ownFolder = mkdtempSync(join(folder, 'writer-'));
      const cost: Cost = JSON.parse(
        execFileSync(process.execPath, [import.meta.filename, String(count), name, ownFolder], {
          encoding: 'utf8',
        }),
      );
      const bytesPerRow = statSync(join(ownFolder, 'rows.parquet')).size / count;
      results.push({ ...cost, bytesPerRow, ...(await readProbes(ownFolder)) });
    }
    print(count, results);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function print(count: number, results: Record<string, string | number>[]): void {
  const labels: Record<keyof Cost | keyof Found | 'bytesPerRow', string> = {
    cpuSeconds: 'CPU s',
    wallSeconds: 'wall s',
    peakMegabytes: 'peak MB',
    bytesPerRow: 'bytes per row',
    filter: `rows found: name = '${EMOJI_NAME}'`,
    integer: '9007199254740993 is read as',
    decimal: '12345678901234567890.123456789 is read as',
  };
  const lines = Object.entries(labels).map(([key, label]) => {
    const [ours = '', other = ''] = results.map((result) => result[key]);
    const ratio = typeof ours === 'number' && typeof other === 'number' ? (other / ours).toFixed(1) : '';
    return [
      label,
      ...[ours, other].map((value) => (typeof value === 'number' ? value.toFixed(1) : value)),
      ratio,
    ];
  });
  const table = [['', ...Object.keys(writers), 'ratio'], ...lines];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...table.map((line) => (line[at] ?? '').length)));
  console.log(`${count} rows of ${columns.length} columns, Node ${process.version}\n`);
  for (const line of table)
    console.log(
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

const [rows = '100000', name, folder] = process.argv.slice(2);
const write = name === undefined ? undefined : writers[name];
if (write && folder !== undefined) console.log(JSON.stringify(await measure(write, folder, Number(rows))));
else await compare(Number(rows));
