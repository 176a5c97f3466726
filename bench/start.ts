/**
 * `npm run bench:start`: what a start costs. How long the command line takes to its first request, and how many modules
 * it has loaded by then; how long the bundle of a sync function takes to be imported, beside a handler that only creates
 * the clients of S3 and Secrets Manager, bundled the same way; how large the bundle is, and its largest parts. Medians of
 * `--runs N` (10) runs, which take turns.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type Metafile, build } from 'esbuild';
import * as z from 'zod/mini';
import { bundle } from '../infra/bundling.ts';
import { reports } from '../shared/reports/index.ts';
import { parseSettings } from '../shared/settings/settings.ts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '10' } } });
const runs = Number(values.runs);
const folder = mkdtempSync(join(tmpdir(), 'brand-reports-start-'));
const settings = (baseUrl: string) => ({
  brands: {
    acme: {
      baseUrl,
      service: 'ACME',
      timeZone: 'America/New_York',
      startDate: '2026-01-01',
      secretName: 'acme',
    },
  },
});
const REFERENCE = `
  import { S3Client } from '@aws-sdk/client-s3';
  import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
  const clients = [new S3Client({}), new SecretsManagerClient({})];
  export const handler = async () => clients.length;`;

try {
  await commandLine();
  await functions();
} finally {
  rmSync(folder, { recursive: true });
}

async function commandLine(): Promise<void> {
  const requested: (() => void)[] = [];
  const service = createServer(() => {
    for (const tell of requested.splice(0)) tell();
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  const file = (name: string, content: object) => {
    writeFileSync(join(folder, name), JSON.stringify(content));
    return join(folder, name);
  };
  const flags = [
    ...['sync', '--lake', join(folder, 'lake')],
    ...['--settings', file('settings.json', settings(`http://127.0.0.1:${port}/`))],
    ...['--credentials', file('credentials.json', { acme: { bid: '1', token: 'token', secret: 'secret' } })],
  ];
  const entry = 'cli/brand-reports.js';
  const countModules = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    let modules = 0;
    registerHooks({ load(url, context, next) { modules += 1; return next(url, context); } });
    const { Socket } = process.getBuiltinModule('node:net');
    const { connect } = Socket.prototype;
    Socket.prototype.connect = function (...to) { console.log(modules); return connect.apply(this, to); };`)}`;

  /** Until the first request of a new process, which ends there. */
  async function msToRequest(command: string, ...args: string[]): Promise<{ ms: number; printed: string }> {
    rmSync(join(folder, 'lake'), { recursive: true, force: true });
    const { promise: isRequested, resolve } = Promise.withResolvers<void>();
    requested.push(resolve);
    const startedMs = performance.now();
    // A group of its own, so that what npx starts ends as well.
    const child = spawn(command, [...args, ...flags], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (text: Buffer) => {
      printed += text.toString();
    });
    const ended = new Promise((end) => child.on('exit', end));
    await Promise.race([isRequested, ended]);
    const ms = performance.now() - startedMs;
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
    return { ms, printed };
  }

  const { printed } = await msToRequest(process.execPath, '--import', countModules, entry);
  const byNode: number[] = [];
  const byNpx: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    byNode.push((await msToRequest(process.execPath, entry)).ms);
    byNpx.push((await msToRequest('npx', 'brand-reports')).ms);
  }
  service.close();
  service.closeAllConnections();
  console.log('Command line, to the first request');
  console.log(`  node ${entry} sync   ${spread(byNode)} ms`);
  console.log(`  npx brand-reports sync            ${spread(byNpx)} ms`);
  console.log(`  modules loaded                    ${printed.split('\n')[0]}\n`);
}

async function functions(): Promise<void> {
  const checked = parseSettings(settings('https://service.example/'), reports);
  const define = { BRAND_REPORTS_SETTINGS: JSON.stringify(checked) };
  const reference = { stdin: { contents: REFERENCE, resolveDir: '.' } };
  const [ours, split, whole] = [join(folder, 'sync'), join(folder, 'reference'), join(folder, 'whole.cjs')];
  const metafile = bundle({ entryPoints: ['functions/sync-report.lambda.ts'] }, define, ours);
  bundle(reference, {}, split);
  await build({
    ...{ ...reference, outfile: whole, bundle: true, platform: 'node', target: 'node24' },
    ...{ format: 'cjs', mainFields: ['module', 'main'], minify: true, keepNames: true },
  });
  const ms = new Map([ours, split, whole].map((path): [string, number[]] => [path, []]));
  for (let run = 0; run < runs; run += 1)
    for (const [path, measured] of ms) measured.push(await cpuMsOfImport(path));
  const ratio = (path: string) => (median(ms.get(ours) ?? []) / median(ms.get(path) ?? [])).toFixed(2);
  console.log('Function, import of its bundle, CPU');
  console.log(`  sync-report                       ${spread(ms.get(ours) ?? [])} ms`);
  console.log(`  only S3 and Secrets Manager       ${spread(ms.get(split) ?? [])} ms, ratio ${ratio(split)}`);
  console.log(
    `  the same in one file              ${spread(ms.get(whole) ?? [])} ms, ratio ${ratio(whole)}\n`,
  );
  const files = Object.values(metafile.outputs);
  const atImport = readAtImport(metafile).flatMap((path) => metafile.outputs[path] ?? []);
  console.log(`Bundle of sync-report: ${kilobytes(sumOf(files.map(({ bytes }) => bytes)))}`);
  console.log(
    `  read at import                    ${kilobytes(sumOf(atImport.map(({ bytes }) => bytes)))}, of it:`,
  );
  const inputs = atImport.flatMap((file) => Object.entries(file.inputs));
  const sizes = [...Map.groupBy(inputs, ([path]) => partOf(path))].map(([part, of]): [string, number] => [
    part,
    sumOf(of.map(([, { bytesInOutput }]) => bytesInOutput)),
  ]);
  for (const [part, size] of sizes.sort(([, x], [, y]) => y - x).slice(0, 12))
    console.log(`  ${part.padEnd(34)}${kilobytes(size)}`);
}

/** The entry, and the files that it imports statically. */
function readAtImport({ outputs }: Metafile): string[] {
  const read = Object.keys(outputs).filter((path) => outputs[path]?.entryPoint?.endsWith('.lambda.ts'));
  // The list grows while it is walked.
  for (const path of read)
    for (const { kind, path: imported, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !external && !read.includes(imported)) read.push(imported);
  return read;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

async function cpuMsOfImport(path: string): Promise<number> {
  const program = `
    const before = process.cpuUsage();
    require(${JSON.stringify(path)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
    env: {
      ...{ AWS_REGION: 'us-east-1', REPORT: 'order_list', LAKE_URL: 's3://lake' },
      ...{ DATABASE: 'reports', METRICS_NAMESPACE: 'BrandReports' },
    },
  });
  return z.parse(z.coerce.number(), stdout.trim());
}

/** A package, or a folder of this repository. */
function partOf(path: string): string {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return name ?? path.split('/').slice(0, 2).join('/');
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function spread(numbers: readonly number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return `${median(numbers).toFixed(0)} (${least.toFixed(0)} to ${most.toFixed(0)})`;
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1000).toLocaleString('en-US')} kB`;
}
