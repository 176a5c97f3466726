/**
 * What a start costs: the time until the first request and the files that were loaded by then; of the Lambda function
 * the bytes of its bundle, what they come from, and the time that its import takes beside a handler that only creates
 * the clients of S3 and Secrets Manager.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import * as z from 'zod/mini';
import { type BrandService, startBrandService } from './brand-service.ts';
import { type Competitor, floor, ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { ROOT, measure } from './measure.ts';
import { observe } from './observed.ts';
import { printTable, spread } from './print.ts';

const run = promisify(execFile);
const BYTES_PER_KB = 1000;
/** How many of the largest parts are named. */
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
  name: 'ours through npx',
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
  const handler = await synthesisedHandler(join(folder, 'cdk.out'));
  const least = join(folder, 'least.mjs');
  const like: BuildOptions = {
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    logLevel: 'error',
  };
  await build({ ...like, stdin: { contents: LEAST_HANDLER, resolveDir: ROOT }, outfile: least });
  const { metafile } = await build({
    ...like,
    entryPoints: ['functions/sync-report.lambda.ts'],
    outfile: join(folder, 'parts.mjs'),
    metafile: true,
    define: { 'process.env.BRAND_REPORTS_SETTINGS': '""' },
  });
  const files = [handler, least];
  const times = files.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, file] of files.entries()) times[index]?.push(await importMs(file));
  const [, base = []] = times;
  const rows = await Promise.all(
    files.map(async (file, index) => [
      index === 0 ? 'the synthesised handler' : 'a handler with the two clients alone',
      kb((await stat(file)).size),
      spread(times[index] ?? [], 0),
      spread(
        (times[index] ?? []).map((ms, round) => ms / (base[round] ?? Number.NaN)),
        2,
      ),
    ]),
  );
  printTable(['', 'bundle', 'ms of import', 'import × the second'], rows);
  const parts = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const bytes = Object.fromEntries(parts.map(([path, { bytesInOutput }]) => [path, bytesInOutput]));
  console.log(`In the bundle, were it minified: ${kb(sum(Object.values(bytes)))}: ${partsOf(bytes)}.\n`);
}

const LEAST_HANDLER = `
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
const clients = [new S3Client({}), new SecretsManagerClient({})];
export const handler = () => clients.length;
`;

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.looseObject({
      Properties: z.optional(
        z.looseObject({
          Code: z.optional(z.looseObject({ S3Key: z.optional(z.string()) })),
          Environment: z.optional(z.looseObject({ Variables: z.record(z.string(), z.unknown()) })),
        }),
      ),
    }),
  ),
});

/** Synthesises the stack as `cdk deploy` does. @returns the bundle of transaction_list */
async function synthesisedHandler(out: string): Promise<string> {
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'infra/app.ts'], {
    cwd: ROOT,
    env: { ...process.env, CDK_OUTDIR: out },
  });
  const template: unknown = JSON.parse(await readFile(join(out, 'BrandReports.template.json'), 'utf8'));
  const found = Object.values(z.parse(templateSchema, template).Resources).find(
    ({ Properties }) => Properties?.Environment?.Variables.REPORT === 'transaction_list',
  );
  const archive = found?.Properties?.Code?.S3Key ?? '';
  return join(out, `asset.${archive.replace('.zip', '')}`, 'index.mjs');
}

const TIMED_IMPORT = `
const startedMs = performance.now();
await import(process.argv[1]);
console.log(performance.now() - startedMs);
process.exit();
`;

async function importMs(file: string): Promise<number> {
  const env = {
    ...process.env,
    AWS_REGION: 'eu-central-1',
    REPORT: 'transaction_list',
    LAKE_URL: 's3://bench/lake',
    DATABASE: 'bench',
    METRICS_NAMESPACE: 'bench',
  };
  const args = ['--input-type=module', '--eval', TIMED_IMPORT, pathToFileURL(file).href];
  const { stdout } = await run(process.execPath, args, { env });
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
