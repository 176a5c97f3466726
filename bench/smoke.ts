/**
 * Tests the deployment in a real AWS account. It deploys the stack BrandReports-smoke beside whatever exists, and uses
 * it as people do: queries, policies, a schedule, events, messages, a backfill, further deployments. Each step runs
 * even if others failed. At the end the script destroys everything, also after Ctrl-C, and prints a table of the
 * results. CI does NOT run it, and it has run in no account yet: a test
 * runs it against stubs. It takes about forty minutes.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { addDays, earlier, monthOf } from '../shared/days.ts';
import { reports } from '../shared/reports/index.ts';
import { cdk, messageOf, used } from './smoke/account.ts';
import { BROKEN, STACK, cleanUp, nothingIsLeft, stepsOf } from './smoke/steps.ts';

/** Athena bills at least 10 MB a query, at 5 USD a TB. */
const USD_A_QUERY = 0.00005;
/** For functions with 1 GB; the backfill runs about as long again. */
const USD_A_SECOND = 0.0000167;
/** Requests, logs, alarms by the hour, messages: a generous estimate. */
const USD_OTHERS = 0.1;

const jsonObject = z.record(z.string(), z.unknown());
const brandSchema = z.looseObject({ startDate: z.string() });
const settingsSchema = z.looseObject({
  brands: z.record(z.string(), brandSchema),
  deployment: z.optional(jsonObject),
});

const [, , file = '', brandGiven, dayGiven, report = 'order_list'] = process.argv;
const table = reports[report]?.table;
if (table === undefined) {
  console.error(`smoke: report is "${report}"; allowed: ${Object.keys(reports).join(', ')}`);
  process.exit(2);
}
const given = await settingsIn(file);
const brand = brandGiven ?? Object.keys(given.brands)[0] ?? '';
const day = dayGiven ?? addDays(new Date().toISOString().slice(0, 10), -2);
const { [brand]: chosen } = given.brands;
if (chosen === undefined) {
  console.error(`smoke: brand is "${brand}"; allowed: ${Object.keys(given.brands).join(', ')}`);
  process.exit(2);
}

let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true;
  });

const work = await mkdtemp(join(tmpdir(), 'brand-reports-smoke-'));
const deployed = join(work, 'settings.json');
const rows: string[] = [];
let failed = 0;
const steps = stepsOf({ work, brand, day, report, table }, deployed, () => writeSettings(30));
await writeSettings(15);
let isDeployed = true;
for (const [index, [name, run]] of steps.entries()) {
  if (isInterrupted || !isDeployed)
    note('not run', name, isInterrupted ? 'interrupted' : 'nothing is deployed');
  else if (!(await step(name, run)) && index === 0) isDeployed = false;
}
await step('remove everything outside the stack', cleanUp);
await step('destroy', async () => {
  await cdk(
    'destroy',
    '--force',
    '-c',
    `settings=${deployed}`,
    '-c',
    `stack=${STACK}`,
    '-c',
    'keepLake=false',
    STACK,
  );
  return '';
});
await step('nothing is left', () => nothingIsLeft({ work }));
await rm(work, { recursive: true });

const usd = used.queries * USD_A_QUERY + 2 * used.functionSeconds * USD_A_SECOND + USD_OTHERS;
console.log(`\n${rows.join('\n')}\n`);
console.log(
  `Estimated cost: ${usd.toFixed(2)} USD (${used.queries} queries, ${Math.round(used.functionSeconds)} s of functions)`,
);
console.log(failed === 0 ? 'smoke: passed' : `smoke: FAILED: ${failed} of ${rows.length} steps did not pass`);
process.exitCode = failed === 0 ? 0 : 1;

async function step(name: string, run: () => Promise<string>): Promise<boolean> {
  console.log(`== ${name}`);
  const began = Date.now();
  const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
  try {
    const text = await run();
    note('passed', name, [seconds(), ...(text === '' ? [] : [text])].join(', '));
    return true;
  } catch (error) {
    note('FAILED', name, `${seconds()}, ${messageOf(error)}`);
    return false;
  }
}

function note(result: 'passed' | 'FAILED' | 'not run', name: string, text: string): void {
  if (result !== 'passed') failed += 1;
  const row = `${result.padEnd(7)}  ${name.padEnd(42)}  ${text.replaceAll(/\s+/g, ' ').slice(0, 300)}`;
  rows.push(row);
  console.log(row);
}

async function settingsIn(path: string) {
  const json = z.parse(jsonObject, JSON.parse(await readFile(path, 'utf8')));
  const { context } = z.parse(z.looseObject({ context: z.optional(jsonObject) }), json);
  return z.parse(settingsSchema, context?.brandReports ?? json);
}

/**
 * Writes the settings of the tested brand and of a second brand that cannot work. They omit what reaches
 * people: mail would be sent, and events would reach the bus of a team.
 */
async function writeSettings(lateMinutes: number): Promise<void> {
  const { events: _events, ...others } = given;
  const { tablePermissions = 'iam' } = given.deployment ?? {};
  const own = {
    ...chosen,
    startDate: earlier(chosen?.startDate ?? day, addDays(`${monthOf(day)}-01`, -1)),
    lateMinutes,
  };
  const brands = {
    [brand]: own,
    [BROKEN]: { ...own, startDate: day, baseUrl: 'https://brand-reports-smoke.invalid' },
  };
  const deployment = {
    ...{ tablePermissions, schedules: false },
    brandRoles: [],
  };
  await writeFile(deployed, JSON.stringify({ ...others, brands, deployment }));
}
