/**
 * Prints docs/explanation/costs.md completely: `npm run --silent cost > docs/explanation/costs.md`. Every figure is
 * computed:
 * - cost/steady-day.ts runs a day of the real code against local servers and counts its requests.
 * - cost/watcher.ts runs the watcher over many brands.
 * - cost/deployed.ts counts the items of the template.
 * - cost/prices.ts has AWS's public prices.
 * - Time is virtual and CPU is assumed, so the page is about the same on every machine.
 * - `npm run cost [clicks of an ordinary day]`
 */
import { ACME } from '../test/infra/stack.ts';
import { deployed } from './cost/deployed.ts';
import { type Price, prices } from './cost/prices.ts';
import { ASSUMED, WRITES, steadyDay } from './cost/steady-day.ts';
import type { WatcherRun } from './cost/watcher.ts';

const DAYS_PER_MONTH = 365 / 12;
const HOURS = 24;
const MB_PER_GB = 1024;
const BYTES_PER_GB = 1e9;
const BYTES_PER_TB = 1e12;
const REPORTS = 5;
const BRANDS = [1, 30, 300];
/** The numbers of brands for which a watcher run is measured. */
const MEASURED_WATCHER_RUNS = [1, 20] as const;
/** The smallest amount that Athena charges for a query. */
const SMALLEST_SCAN_BYTES = 10e6;
/** Athena lists the prefix of each partition, and reads the footer and columns of its object. */
const GETS_PER_OBJECT = 3;
/** The assumed queries of people: this many a day, each over a month of one report. */
const QUERIES_PER_DAY = 10;
const PARTITIONS_PER_QUERY = 30;
/** The maximum number of requests that the SDK sends at the same time. */
const SOCKETS = 50;
/** `CONCURRENCY` of shared/catalog/update.ts. */
const UPDATE_WIDTH = 8;
/** What one run of the watcher leaves for the catalog, in minutes. */
const UPDATE_MINUTES = 3;

interface Item {
  name: string;
  price: Price;
  /** How many per day … */
  perDay?: number;
  /** … or how many at any time. */
  atAnyTime?: number;
  /** Whether the price is the same for any number of days. */
  isFixed?: boolean;
}

const clicksPerDay = Number(process.argv[2] ?? 60);
const { memoryMb, timeoutSeconds, alarmMetrics } = deployed({
  brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } },
});
const day = await steadyDay(clicksPerDay, timeoutSeconds, MEASURED_WATCHER_RUNS);
const calls = (names: RegExp) =>
  [...day.calls].reduce((sum, [name, count]) => sum + (names.test(name) ? count : 0), 0);

/** A watcher run: as measured, and for more brands by what each further brand added. */
function watcherRunOf(brands: number) {
  const [one, several] = MEASURED_WATCHER_RUNS.map((count) => day.watcherRunsOfMany.get(count));
  if (!one || !several)
    throw new Error(`no watcher run of ${MEASURED_WATCHER_RUNS.join(' and ')} brands was measured`);
  const [first, last] = MEASURED_WATCHER_RUNS;
  const at = (of: (measured: WatcherRun) => number) =>
    of(one) + ((of(several) - of(one)) / (last - first)) * (brands - first);
  const [gets, writesAndLists] = [
    at((watcherRun) => watcherRun.gets),
    at((watcherRun) => watcherRun.writesAndLists),
  ];
  const { initSeconds, awsCallSeconds, cpuSecondsPerLedger } = ASSUMED;
  const waiting = ((gets + writesAndLists) * awsCallSeconds) / SOCKETS;
  const seconds = initSeconds + waiting + gets * cpuSecondsPerLedger;
  return { gets, writesAndLists, pageMb: at(({ pageMb }) => pageMb), seconds };
}

/** A run of so many brands: they are read side by side, so their waiting overlaps and their CPU adds up. */
function secondsOfRun(brands: number): number {
  return (day.seconds + (brands - 1) * day.cpuSeconds) / day.runs;
}

/** The usage of a deployment of so many brands, each like the simulated brand. */
function items(brands: number): Item[] {
  const [one, many] = [watcherRunOf(1), watcherRunOf(brands)];
  /** The requests of a run grow with the brands, those of the watcher less. */
  const requests = (
    names: RegExp,
    ofWatcherRun: (watcherRun: Pick<WatcherRun, 'gets' | 'writesAndLists'>) => number,
  ) => (calls(names) - HOURS * ofWatcherRun(one)) * brands + HOURS * ofWatcherRun(many);
  const starts = day.runs + day.watcherRuns;
  const seconds =
    day.runs * secondsOfRun(brands) + (brands === 1 ? day.watcherSeconds : HOURS * many.seconds);
  return [
    { name: 'Lambda, starts', perDay: starts, price: prices.lambdaStart },
    { name: 'Lambda, time × memory', perDay: (seconds * memoryMb) / MB_PER_GB, price: prices.lambdaGbSecond },
    { name: 'EventBridge Scheduler', perDay: starts, price: prices.schedule },
    { name: 'EventBridge, events', perDay: day.events * brands, price: prices.event },
    {
      name: 'S3, PUT and LIST',
      perDay: requests(WRITES, ({ writesAndLists }) => writesAndLists),
      price: prices.s3Write,
    },
    { name: 'S3, GET', perDay: requests(/^(Get|Head)Object/, ({ gets }) => gets), price: prices.s3Read },
    {
      name: 'S3, storage after a year',
      atAnyTime: (brands * day.keptBytes * 365) / BYTES_PER_GB,
      price: prices.s3Gb,
    },
    {
      name: 'S3, storage of older versions',
      // The second vacuum after their time deletes the versions of a day.
      atAnyTime: (brands * day.versionBytes * (day.snapshotRetentionDays + 2)) / BYTES_PER_GB,
      price: prices.s3Gb,
    },
    {
      name: 'Glue, requests',
      perDay: brands * calls(/(Table|Partition|Partitions)Command$/),
      price: prices.glueRequest,
    },
    {
      name: 'Glue, partitions after a year',
      atAnyTime: brands * day.keptPartitions * 365,
      price: prices.glueObject,
    },
    { name: 'Secrets Manager, secrets', atAnyTime: brands, price: prices.secret },
    {
      name: 'Secrets Manager, requests',
      perDay: brands * calls(/^GetSecretValue/),
      price: prices.secretCall,
    },
    {
      name: 'CloudWatch, alarms (by metrics)',
      atAnyTime: alarmMetrics,
      price: prices.alarm,
      isFixed: true,
    },
    {
      name: 'CloudWatch, logs in GB',
      perDay: (brands * day.logBytes) / BYTES_PER_GB,
      price: prices.logGb,
    },
    ...athena(QUERIES_PER_DAY, PARTITIONS_PER_QUERY, 0).map((item) => ({ ...item, isFixed: true })),
  ];
}

/** @param bytes the bytes that one query scans */
function athena(queriesPerDay: number, partitions: number, bytes: number): Item[] {
  const objects = queriesPerDay * partitions;
  const tb = Math.max(bytes, SMALLEST_SCAN_BYTES) / BYTES_PER_TB;
  return [
    { name: 'Athena, LIST of partitions', perDay: objects, price: prices.s3Write },
    { name: 'Athena, GET', perDay: objects * GETS_PER_OBJECT, price: prices.s3Read },
    { name: 'Athena, scanned TB', perDay: queriesPerDay * tb, price: prices.athenaTb },
  ];
}

function usdPerMonth(
  { price, perDay = 0, atAnyTime = perDay * DAYS_PER_MONTH }: Item,
  withFreeTier: boolean,
): number {
  const free = withFreeTier ? (price.freePerMonth ?? 0) : 0;
  return (Math.max(0, atAnyTime - free) / price.per) * price.usd;
}

function usd(some: readonly Item[], withFreeTier = false): string {
  return some.reduce((sum, item) => sum + usdPerMonth(item, withFreeTier), 0).toFixed(2);
}

/** Rounded to so many significant digits. */
function rounded(value: number, maximumSignificantDigits = 3): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits });
}

/** @param texts the numbers of the columns with text */
function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  texts: readonly number[],
): string {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const isText = (column: number) => texts.includes(column);
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    isText(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(heads), line(rule), ...rows.map(line)].join('\n');
}

function billOfOne(): string {
  const all = items(1);
  const rows = all.map((item) => [
    item.name,
    item.perDay === undefined ? '' : rounded(item.perDay),
    item.atAnyTime === undefined ? '' : rounded(item.atAnyTime),
    `${item.price.usd} / ${item.price.per === 1 ? '' : '1M '}${item.price.unit}`,
    usd([item]),
    usd([item], true),
  ]);
  return table(
    ['item', 'per day', 'at any time', 'USD', 'USD per month', 'after the free tier'],
    [...rows, ['**total**', '', '', '', `**${usd(all)}**`, `**${usd(all, true)}**`]],
    [0, 3],
  );
}

function billOfMany(): string {
  const rows = BRANDS.map((brands) => {
    const all = items(brands);
    const named = (names: RegExp) => usd(all.filter(({ name }) => names.test(name)));
    return [
      ...[String(brands), usd(all.filter(({ isFixed }) => isFixed)), named(/^Lambda/), named(/^S3/)],
      ...[named(/^Glue/), named(/^Secrets/), named(/^EventBridge|logs/)],
      ...[`**${usd(all)}**`, usd(all, true), (Number(usd(all)) / brands).toFixed(2)],
    ];
  });
  const heads = ['brands', 'fixed', 'Lambda', 'S3', 'Glue', 'secrets', 'starts, events, logs'];
  return table([...heads, 'USD per month', 'after the free tier', 'for each brand'], rows, []);
}

function runs(): string {
  const rows = BRANDS.map((brands) => [rounded(brands), rounded(secondsOfRun(brands), 2), rounded(memoryMb)]);
  return table(['brands', 'seconds of an hourly run', 'MB of its memory'], rows, []);
}

function watcherRuns(): string {
  const rows = BRANDS.map((brands) => {
    const { gets, writesAndLists, pageMb, seconds } = watcherRunOf(brands);
    return [rounded(brands), rounded(gets), rounded(writesAndLists), rounded(seconds, 2), rounded(pageMb, 2)];
  });
  return table(['brands', 'GET', 'PUT and LIST', 'seconds', 'MB of a brand’s page'], rows, []);
}

function queries(): string {
  const [brands, years] = [20, 3];
  const days = brands * years * 365;
  const most = BRANDS.at(-1) ?? 1;
  const row = (name: string, partitions: number, bytes: number) => {
    const cost = athena(1 / DAYS_PER_MONTH, partitions, bytes);
    const dollars = cost.reduce((sum, item) => sum + usdPerMonth(item, false), 0);
    const mb = bytes === 0 ? '' : rounded(bytes / 1e6);
    return [
      name,
      rounded(partitions),
      rounded(partitions),
      rounded(partitions * GETS_PER_OBJECT),
      mb,
      rounded(dollars, 2),
    ];
  };
  return table(
    ['a query over', 'partitions', 'LIST', 'GET', 'MB', 'USD'],
    [
      row('a month of one report of one brand', 30, 0),
      row('a year of one report of one brand', 365, 0),
      row(
        `all of \`coverage\` or \`freshness\`, ${most} brands in ${years} years`,
        most,
        most * years * 365 * day.coverageDayBytes,
      ),
      row(
        `all tables such as \`orders_before\`, ${brands} brands in ${years} years`,
        days * Math.round(day.beforeDayObjects),
        days * day.beforeDayBytes,
      ),
      row(`all of one report, ${brands} brands in ${years} years`, days, 0),
    ],
    [0],
  );
}

const all = items(1);
const { initSeconds, requestSeconds, awsCallSeconds, cpuSeconds } = ASSUMED;
const many = BRANDS.at(-1) ?? 1;
const ledgers = many * REPORTS * 36;
const updateRequests = (day.updateRequests / day.months) * ledgers;
const updateMinutes = (updateRequests * awsCallSeconds) / UPDATE_WIDTH / 60;

console.log(`# Costs

\`npm run --silent cost\` prints this page. It runs a simulated day of the real code, counts its requests to AWS, and multiplies them by
AWS's public prices. \`npm run --silent cost 600\` does the same for 600 clicks on an ordinary day instead of ${clicksPerDay}.

## One brand

All five reports (click details included) every hour, and the watcher:

${billOfOne()}

The brand has ${rounded(day.clicks)} clicks a day. Reading it takes ${rounded(day.requests)} requests to its service and ${rounded(day.seconds + day.watcherSeconds)} s of Lambda with ${memoryMb} MB.

The bill assumes:

- ${requestSeconds} s for each request to the service, ${awsCallSeconds} s for each request to AWS, and ${cpuSeconds} s of CPU for each request of both kinds;
- ${initSeconds} s for each start, which is always a cold start;
- that each day of the last month has changed since it was last read;
- ${QUERIES_PER_DAY} queries a day in Athena, each over a month of one report;
- prices of us-east-1 without taxes (sources in bench/cost/prices.ts), and AWS's "always free" tier.

## More brands

Each brand is like the one above, with hourly runs and a secret of its own:

${billOfMany()}

Three alarms and the queries are fixed. Everything else grows with the brands and their data.

## The time of a run

One run reads all brands side by side: their waiting overlaps, and their CPU adds up. An hourly run takes on average:

${runs()}

A run has 13 minutes. The next start continues, and begins with other brands.

A second run right after a run at the end of the day sends ${rounded(day.unchangedWrites)} PUT and LIST for a brand with five reports, and ${rounded(day.idleWrites)} if \`every\` is \`1 day\`
for each report.

## Limits of many brands

- **Settings** of 300 brands with five reports add 11 kB to the code of the functions, and about 13 ms of CPU to the 82 ms of a start
  (\`npm run bench:start\`).
- **The watcher** may take 5 minutes. The table shows a watcher run over the simulated brand under so many names. It is measured up to
  ${MEASURED_WATCHER_RUNS[1]} brands, and beyond that each further brand adds the same:

${watcherRuns()}

- **An update of the whole catalog**, after an upgrade, takes several runs of the watcher. ${rounded(many)} brands with three years have
  ${rounded(ledgers)} ledgers. About ${rounded(updateRequests, 2)} requests take ${rounded(updateMinutes, 2)} minutes, ${UPDATE_WIDTH} at a time, so ${rounded(Math.ceil(updateMinutes / UPDATE_MINUTES))} runs. The catalog of a brand is up to date as soon
  as its turn is over.

## Cost drivers

- **Fixed items** cost ${usd(all.filter(({ name }) => /alarms|, secrets/.test(name)))} USD: three alarms and one secret.
- **Lambda's time** follows the number of requests to the service. \`clicks_detail\` costs one request for each click, so it is off by default.
- **The watcher** runs ${day.watcherRuns} times a day and takes ${rounded(day.watcherSeconds)} s of Lambda in all. It lists the ledgers, and reads the report states, the ledgers
  of five months and the ledgers of months in which a day is due: ${rounded(watcherRunOf(1).gets * day.watcherRuns)} GET a day here.
- **Age** costs little: a run reads ledgers and partitions only of months in which a day may be due. Once a day it reads all.
- **Storage** costs little. Replaced snapshots are removed after \`snapshotRetentionDays\`, raw records after \`rawRetentionDays\`. A day
  leaves ${rounded(day.versions, 2)} older versions of ${rounded(day.versionBytes / 1e6, 2)} MB in all, most of them of the open day.

## Requests to the service

\`npm run requests\` runs the real code in virtual time against a simulated brand. In a lake of 400
days, it divides the requests by one request for each page and one proof of the end for each reading. In the first 61 days, it divides them by
the requests of a script that re-reads the last 35 days.

It printed 1.27 and 1.23 for orders, because they need queries of the end of a day, and at most 1.00 and 1.03 for the other paged reports.
Each run also sends one request for the service's time ([decision 0012](../decisions/0012-the-service-clock.md)), which is not counted.

## Queries

A query in Athena costs 5 USD for each TB that it scans, at least 0.00005 USD, and its requests to S3. They are one LIST for each
partition, and about ${GETS_PER_OBJECT} GET for the footer and the columns of its object. With small partitions the requests are most of the cost:

${queries()}

MB is the size of whole files: a day of all reports in \`coverage\`, ${rounded(day.coverageDayBytes)} bytes, and all changes of a day, ${rounded(day.beforeDayBytes / 1e3)} kB. How long Athena takes
is not measured here.

Therefore put \`brand\` and \`dt\` into \`WHERE\`: partition indexes let Athena request only the partitions of a query. \`queryScanLimitGb\` limits one query.`);
