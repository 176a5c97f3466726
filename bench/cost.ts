/**
 * Prints what a deployment costs per month, as the Markdown table of docs/costs.md: hourly runs of all five reports of
 * one brand, and the watcher's looks. Nothing is estimated by hand: cost/steady-day.ts runs a day of the real code against local servers and
 * counts its requests, cost/deployed.ts counts what is in the template, and cost/prices.ts has AWS's public prices.
 * `npm run cost [clicks of an ordinary day]`
 */
import { ACME } from '../test/infra/stack.ts';
import { deployed } from './cost/deployed.ts';
import { type Price, prices } from './cost/prices.ts';
import { ASSUMED, steadyDay } from './cost/steady-day.ts';

const DAYS_PER_MONTH = 365 / 12;
const MB_PER_GB = 1024;
const BYTES_PER_GB = 1e9;
/** Athena charges no less for a query. */
const SMALLEST_SCAN_TB = 10e6 / 1e12;
/** Athena lists the prefix of each partition, and reads footer and columns of its object. */
const GETS_PER_OBJECT = 3;
/** What people are assumed to ask: this many queries, each over a month of one report. */
const QUERIES_PER_DAY = 10;
const PARTITIONS_PER_QUERY = 30;

interface Item {
  name: string;
  price: Price;
  /** How many per day … */
  perDay?: number;
  /** … or how many at any time. */
  atAnyTime?: number;
}

async function items(clicksPerDay: number): Promise<{ all: Item[]; notes: string[] }> {
  const { memoryMb, timeoutSeconds, alarmMetrics } = deployed({
    brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } },
  });
  const day = await steadyDay(clicksPerDay, timeoutSeconds);
  const calls = (names: RegExp) =>
    [...day.calls].reduce((sum, [name, count]) => sum + (names.test(name) ? count : 0), 0);
  const all: Item[] = [
    { name: 'Lambda, starts', perDay: day.runs + day.looks, price: prices.lambdaStart },
    {
      name: 'Lambda, time × memory',
      perDay: (day.seconds * memoryMb) / MB_PER_GB,
      price: prices.lambdaGbSecond,
    },
    { name: 'EventBridge Scheduler', perDay: day.runs + day.looks, price: prices.schedule },
    { name: 'EventBridge, events', perDay: day.events, price: prices.event },
    {
      name: 'S3, PUT and LIST',
      perDay: calls(/^(PutObject|ListObjects|(Create|Complete)Multipart|UploadPart)/),
      price: prices.s3Write,
    },
    { name: 'S3, GET', perDay: calls(/^(Get|Head)Object/), price: prices.s3Read },
    {
      name: 'S3, storage after a year',
      atAnyTime: (day.keptBytes * 365) / BYTES_PER_GB,
      price: prices.s3Gb,
    },
    {
      name: 'S3, storage of older versions',
      // Those of a day go with the second vacuum after their time.
      atAnyTime: (day.versionBytes * (day.snapshotRetentionDays + 2)) / BYTES_PER_GB,
      price: prices.s3Gb,
    },
    {
      name: 'Glue, requests',
      perDay: calls(/(Table|Partition|Partitions)Command$/),
      price: prices.glueRequest,
    },
    {
      name: 'Glue, partitions after a year',
      atAnyTime: day.keptPartitions * 365,
      price: prices.glueObject,
    },
    { name: 'Secrets Manager, secrets', atAnyTime: 1, price: prices.secret },
    { name: 'Secrets Manager, requests', perDay: calls(/^GetSecretValue/), price: prices.secretCall },
    { name: 'CloudWatch, metrics', atAnyTime: 1, price: prices.metric },
    { name: 'CloudWatch, alarms (by metrics)', atAnyTime: alarmMetrics, price: prices.alarm },
    { name: 'CloudWatch, logs in GB', perDay: day.logBytes / BYTES_PER_GB, price: prices.logGb },
    ...athena(QUERIES_PER_DAY, PARTITIONS_PER_QUERY),
  ];
  const fixed = all.filter(({ name }) =>
    /^(CloudWatch, (metrics|alarms)|Secrets Manager, secrets)/.test(name),
  );
  const usd = (some: readonly Item[]) =>
    some.reduce((sum, item) => sum + usdPerMonth(item, false), 0).toFixed(2);
  const query = (partitions: number) => {
    const perQuery = athena(1 / DAYS_PER_MONTH, partitions);
    return `${rounded(partitions)} partitions ${rounded(perQuery.reduce((sum, item) => sum + usdPerMonth(item, false), 0))} USD`;
  };
  const { initSeconds, requestSeconds, awsCallSeconds } = ASSUMED;
  return {
    all,
    notes: [
      `A brand with ${rounded(day.clicks)} clicks a day: ${rounded(day.requests)} requests to its service and ${rounded(day.seconds)} s of Lambda with ${memoryMb} MB a day.`,
      `Assumed: ${requestSeconds} s per request to the service, ${awsCallSeconds} s per request to AWS, ${initSeconds} s for each start (always a cold start), and that each day of the last month has changed since it was last read. The free tier is AWS's "always free" one.`,
      `Of the total ${usd(fixed)} USD are for what is there, whatever is read: metrics, alarms and one secret. Each further brand adds its secret to that, or nothing where it shares one, and what its own data costs.`,
      `Athena: ${QUERIES_PER_DAY} queries a day over ${PARTITIONS_PER_QUERY} partitions each. A query costs 5 USD per TB that it scans, at least 0.00005 USD, and S3's requests: one LIST and ${GETS_PER_OBJECT} GET for each partition. With the smallest scan: ${[30, 365, 3600, 20 * 3 * 365].map(query).join(', ')}.`,
      `A day leaves ${day.versions} older versions of ${rounded(day.versionBytes / 1e6)} MB, which stay for ${day.snapshotRetentionDays} days and up to two more.`,
      `Prices of us-east-1 without taxes, sources in bench/cost/prices.ts.`,
    ],
  };
}

function athena(queriesPerDay: number, partitions: number): Item[] {
  const objects = queriesPerDay * partitions;
  return [
    { name: 'Athena, LIST of partitions', perDay: objects, price: prices.s3Write },
    { name: 'Athena, GET', perDay: objects * GETS_PER_OBJECT, price: prices.s3Read },
    { name: 'Athena, scanned TB', perDay: queriesPerDay * SMALLEST_SCAN_TB, price: prices.athenaTb },
  ];
}

function usdPerMonth(
  { price, perDay = 0, atAnyTime = perDay * DAYS_PER_MONTH }: Item,
  withFreeTier: boolean,
): number {
  const free = withFreeTier ? (price.freePerMonth ?? 0) : 0;
  return (Math.max(0, atAnyTime - free) / price.per) * price.usd;
}

/** Rounded to three significant digits. */
function rounded(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

function print(all: readonly Item[]): void {
  const usd = (value: number) => value.toFixed(2);
  const total = (withFreeTier: boolean) =>
    usd(all.reduce((sum, item) => sum + usdPerMonth(item, withFreeTier), 0));
  const rows = all.map((item) => [
    item.name,
    item.perDay === undefined ? '' : rounded(item.perDay),
    item.atAnyTime === undefined ? '' : rounded(item.atAnyTime),
    `${item.price.usd} / ${item.price.per === 1 ? '' : '1M '}${item.price.unit}`,
    usd(usdPerMonth(item, false)),
    usd(usdPerMonth(item, true)),
  ]);
  const heads = ['item', 'per day', 'at any time', 'USD', 'USD per month', 'after the free tier'];
  const table = [heads, ...rows, ['**total**', '', '', '', `**${total(false)}**`, `**${total(true)}**`]];
  const widths = heads.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const isLeftAligned = (column: number) => column === 0 || column === 3;
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (isLeftAligned(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    isLeftAligned(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  console.log([line(heads), line(rule), ...table.slice(1).map(line)].join('\n'));
}

const { all, notes } = await items(Number(process.argv[2] ?? 60));
print(all);
console.log(`\n${notes.join('\n')}`);
