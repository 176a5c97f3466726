/**
 * What a deployment costs a month: hourly runs of all five reports of one brand, by a simulated day and public prices.
 * `npm run cost [clicks of an ordinary day]`
 */
import { ACME } from '../test/infra/stack.ts';
import { deployed } from './cost/deployed.ts';
import { type Price, prices } from './cost/prices.ts';
import { ASSUMED, steadyDay } from './cost/steady-day.ts';

const DAYS_A_MONTH = 365 / 12;
const MB_A_GB = 1024;
const BYTES_A_GB = 1e9;

interface Item {
  name: string;
  price: Price;
  /** Either so many a day, or so many all the time. */
  aDay?: number;
  standing?: number;
}

async function items(clicksPerDay: number): Promise<{ all: Item[]; about: string[] }> {
  const { memoryMb, timeoutSeconds, alarmMetrics, dashboards } = deployed({
    brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } },
  });
  const day = await steadyDay(clicksPerDay, timeoutSeconds);
  const calls = (wanted: RegExp) =>
    [...day.calls].reduce((sum, [name, count]) => sum + (wanted.test(name) ? count : 0), 0);
  const all: Item[] = [
    { name: 'Lambda, starts', aDay: day.runs, price: prices.lambdaStart },
    {
      name: 'Lambda, time × memory',
      aDay: (day.seconds * memoryMb) / MB_A_GB,
      price: prices.lambdaGbSecond,
    },
    { name: 'EventBridge Scheduler', aDay: day.runs, price: prices.schedule },
    {
      name: 'S3, PUT and LIST',
      aDay: calls(/^(PutObject|ListObjects|(Create|Complete)Multipart|UploadPart)/),
      price: prices.s3Write,
    },
    { name: 'S3, GET', aDay: calls(/^(Get|Head)Object/), price: prices.s3Read },
    {
      name: 'S3, what lies there after a year',
      standing: (day.keptBytes * 365) / BYTES_A_GB,
      price: prices.s3Gb,
    },
    {
      name: 'Glue, requests',
      aDay: calls(/(Table|Partition|Partitions)Command$/),
      price: prices.glueRequest,
    },
    {
      name: 'Glue, partitions after a year',
      standing: day.keptPartitions * 365,
      price: prices.glueObject,
    },
    { name: 'Secrets Manager, secrets', standing: 1, price: prices.secret },
    { name: 'Secrets Manager, requests', aDay: calls(/^GetSecretValue/), price: prices.secretCall },
    { name: 'CloudWatch, metrics', standing: day.metrics, price: prices.metric },
    { name: 'CloudWatch, alarms on so many', standing: alarmMetrics, price: prices.alarm },
    { name: 'CloudWatch, dashboards', standing: dashboards, price: prices.dashboard },
    { name: 'CloudWatch, logs in GB', aDay: day.logBytes / BYTES_A_GB, price: prices.logGb },
  ];
  const { initSeconds, requestSeconds, awsCallSeconds } = ASSUMED;
  return {
    all,
    about: [
      `A brand with ${rounded(day.clicks)} clicks a day: ${rounded(day.requests)} requests to its service and ${rounded(day.seconds)} s of Lambda with ${memoryMb} MB a day.`,
      `Taken for granted: ${requestSeconds} s for a request to the service, ${awsCallSeconds} s for one to AWS, ${initSeconds} s for each start (always a cold one), and that each day of the last month has changed since it was last read.`,
      `Prices of us-east-1 without taxes, sources in bench/cost/prices.ts. A query in Athena costs 5 USD a TB that it reads, and no less than 0.00005 USD.`,
    ],
  };
}

function usdAMonth({ price, aDay = 0, standing = aDay * DAYS_A_MONTH }: Item, isFree: boolean): number {
  const free = isFree ? (price.freeAMonth ?? 0) : 0;
  return (Math.max(0, standing - free) / price.per) * price.usd;
}

/** Three digits that count. */
function rounded(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

function print(all: readonly Item[]): void {
  const usd = (value: number) => value.toFixed(2);
  const total = (isFree: boolean) => usd(all.reduce((sum, item) => sum + usdAMonth(item, isFree), 0));
  const rows = all.map((item) => [
    item.name,
    item.aDay === undefined ? '' : rounded(item.aDay),
    item.standing === undefined ? '' : rounded(item.standing),
    `${item.price.usd} / ${item.price.per === 1 ? '' : '1M '}${item.price.unit}`,
    usd(usdAMonth(item, false)),
    usd(usdAMonth(item, true)),
  ]);
  const heads = ['item', 'a day', 'at any time', 'USD', 'USD a month', 'less what is always free'];
  const table = [heads, ...rows, ['**total**', '', '', '', `**${total(false)}**`, `**${total(true)}**`]];
  const widths = heads.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const isText = (column: number) => column === 0 || column === 3;
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((wide, column) => (isText(column) ? '-'.repeat(wide) : `${'-'.repeat(wide - 1)}:`));
  console.log([line(heads), line(rule), ...table.slice(1).map(line)].join('\n'));
}

const { all, about } = await items(Number(process.argv[2] ?? 60));
print(all);
console.log(`\n${about.join('\n')}`);
