/**
 * Measures what a start costs: the time until the first request, and the files that were loaded by then. For the Lambda
 * function it measures the bytes of the bundle and their origin. It compares the CPU time of its import with a handler
 * that only creates the clients of S3 and Secrets Manager.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { bundleFunction } from '../../infra/bundle-function.ts';
import { reports } from '../../shared/reports/index.ts';
import { SETTINGS_FILE, settingsText } from '../../shared/settings/settings-file.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { type BrandService, startBrandService } from './brand-service.ts';
import { type Competitor, floor, ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { ENVIRONMENT, ROOT, measure } from './measure.ts';
import { observe } from './observed.ts';
import { printTable, spread } from './print.ts';

const run = promisify(execFile);
const BYTES_PER_KB = 1000;
const MANY_BRANDS = 300;
/** The number of largest parts that are listed. */
const NAMED_PARTS = 8;

export async function printStart(rounds: number): Promise<void> {
  console.log(`### Start, ${rounds} rounds`);
  const service = await startBrandService({ pages: 1, days: 1, latencyMs: 0 });
  const starts = new Map<Competitor, number[]>([ours, throughNpx, floor].map((each) => [each, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [competitor, all] of starts) all.push(await firstRequestMs(competitor, service));
  const { loaded } = await withFolder(async (folder) => observe(await ours.command(taskOf(service, folder))));
  await service.stop();
  printTable(
    ['', 'ms until the first request'],
    [...starts].map(([{ name }, all]) => [name, spread(all, 0)]),
  );
  console.log(
    `Loaded by then: ${Object.keys(loaded).length} files, ${kb(sum(Object.values(loaded)))}: ${partsOf(loaded)}.`,
  );
  await withFolder((folder) => printHandler(folder, rounds));
}

const throughNpx: Competitor = {
  name: 'ours through npx, from a checkout',
  async command(task) {
    const { args } = await ours.command(task);
    return { program: 'npx', args: ['--no-install', 'brand-reports', ...args.slice(1)] };
  },
};

async function firstRequestMs(competitor: Competitor, service: BrandService): Promise<number> {
  return withFolder(async (folder) => {
    const command = await competitor.command(taskOf(service, folder));
    await service.begin();
    const startedMs = performance.timeOrigin + performance.now();
    const { code, stderr } = await measure(command);
    const { firstRequestMs: requestedMs } = await service.usage();
    if (code !== 0 || requestedMs === undefined)
      throw new Error(`${competitor.name} ended with ${code}:\n${stderr.slice(-2000)}`);
    return requestedMs - startedMs;
  });
}

function taskOf({ url }: BrandService, folder: string) {
  return { url, folder, days: 1, inFlight: 1 };
}

async function printHandler(folder: string, rounds: number): Promise<void> {
  const reference = { stdin: { contents: LEAST_HANDLER, resolveDir: ROOT } };
  const [handler, least] = [join(folder, 'handler/main.js'), join(folder, 'least/main.js')];
  const entry = join(ROOT, 'functions/sync.lambda.ts');
  const metafile = bundleFunction({ entryPoints: [entry] }, dirname(handler));
  writeFileSync(join(dirname(handler), SETTINGS_FILE), '{"brands":{},"deployment":{}}');
  const [many, text] = [join(folder, 'many/main.js'), settingsOfMany()];
  cpSync(dirname(handler), dirname(many), { recursive: true });
  writeFileSync(join(dirname(many), SETTINGS_FILE), text);
  bundleFunction(reference, dirname(least));
  const times = new Map([handler, many, least].map((path): [string, number[]] => [path, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [path, all] of times) all.push(await importMs(path));
  const row = (name: string, path: string) => {
    const all = times.get(path) ?? [];
    const ratios = (times.get(handler) ?? []).map((ms, round) => ms / (all[round] ?? Number.NaN));
    return [name, spread(all, 0), path === handler ? '' : spread(ratios, 2)];
  };
  printTable(
    ['', 'ms of CPU of its import', 'ours ÷ it'],
    [
      row('the function that reads the reports', handler),
      row(
        `with settings of ${MANY_BRANDS} brands × 5 reports, ${kb(deflateRawSync(text).length)} packed`,
        many,
      ),
      row('a handler with the two clients alone', least),
    ],
  );
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {});
  const bytes = Object.fromEntries(inputs.map(([path, { bytesInOutput }]) => [path, bytesInOutput]));
  console.log(`The bundle has ${kb(output?.bytes ?? 0)}: ${partsOf(bytes)}.\n`);
}

function settingsOfMany(): string {
  const enabled = Object.fromEntries(Object.keys(reports).map((name) => [name, { enabled: true }]));
  const brands = Array.from({ length: MANY_BRANDS }, (_, index) => {
    // Brands of different services, so that their settings do not pack as one.
    const service = hash('md5', String(index));
    const baseUrl = `https://${service}.example/api/brand`;
    return [
      `brand-${index}`,
      { ...{ baseUrl, service, timeZone: 'UTC', startDate: '2026-01-01' }, reports: enabled },
    ];
  });
  return settingsText(parseSettings({ brands: Object.fromEntries(brands) }, reports));
}

const LEAST_HANDLER = `
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
const clients = [new S3Client({}), new SecretsManagerClient({})];
export const handler = () => clients.length;
`;

const TIMED_IMPORT = `
const before = process.cpuUsage();
require(process.argv[1]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
process.exit();
`;

/** With `require`, as Lambda loads it. */
async function importMs(path: string): Promise<number> {
  const env = {
    ...ENVIRONMENT,
    AWS_REGION: 'eu-central-1',
    LAMBDA_TASK_ROOT: dirname(path),
    PROGRAM_VERSION: '1.0.0',
    LAKE_URL: 's3://bench/lake',
    LAKE_OWNER: '123456789012',
    DATABASE: 'bench',
    EVENT_BUS_ARN: 'arn:aws:events:eu-central-1:123456789012:event-bus/default',
  };
  const { stdout } = await run(process.execPath, ['--eval', TIMED_IMPORT, path], { env });
  return Number(stdout);
}

/** The largest parts, by package or by folder of this repository. @param bytes by path */
function partsOf(bytes: Readonly<Record<string, number>>): string {
  const parts = new Map<string, { files: number; bytes: number }>();
  for (const [path, size] of Object.entries(bytes)) {
    const part = partOf(path);
    const before = parts.get(part) ?? { files: 0, bytes: 0 };
    parts.set(part, { files: before.files + 1, bytes: before.bytes + size });
  }
  return [...parts]
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .slice(0, NAMED_PARTS)
    .map(([part, { files, bytes }]) => `${part} ${kb(bytes)} in ${files} file${files === 1 ? '' : 's'}`)
    .join(', ');
}

/** `…/node_modules/@smithy/core/dist/index.js` → `@smithy/core`, `…/shared/lake/paths.ts` → `shared` */
function partOf(path: string): string {
  const inPackages = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  return inPackages ?? path.replace(ROOT, '').split('/')[0] ?? '';
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function kb(bytes: number): string {
  return `${Math.round(bytes / BYTES_PER_KB).toLocaleString('en-US')} kB`;
}
