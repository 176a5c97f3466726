import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { isJsonObject, type Json, type JsonObject } from '../../shared/json.ts';
import { servedPerPage } from '../strict-service/answer.ts';
import { holdingsOf, shownIn, type Table, tables } from '../strict-service/data.ts';
import { plainInterpretation, type Interpretation, settingsFor } from '../strict-service/interpretations.ts';
import { type Brand, type StrictService, startStrictService } from '../strict-service/service.ts';
import { differences, readLakeTable } from './lake.ts';

const commandLine = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));

export const reportOf: Record<Table, string> = {
  clicks: 'clicks_list',
  click_details: 'clicks_detail',
  orders: 'order_list',
  transactions: 'transaction_list',
  attribution: 'amazon_attribution_report',
};

/** The report whose filters apply to a table: details are the details of the clicks that were read. */
const filteredBy: Record<Table, string> = { ...reportOf, click_details: reportOf.clicks };

export const pageSize = 20;
export const limit = 5;

interface BrandPlan {
  name: string;
  timeZone: string;
  startDate: string;
  /** By report name. */
  filters?: Record<string, JsonObject>;
}

export const newYork: BrandPlan = { name: 'acme', timeZone: 'America/New_York', startDate: '2026-10-30' };

/** One run of the command line, as its caller sees it. */
export interface Run {
  /** `null` if the run was killed. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** The output of `--json`; undefined if the run was killed before. */
  outcome: JsonObject | undefined;
}

/** Days of tables that a broken service kept out of the lake. */
type Without = Partial<Record<Table, readonly string[]>>;

export interface Scenario {
  readonly service: StrictService;
  sync(args?: string[], how?: { killAfterCalls?: number; now?: string }): Promise<Run>;
  /** How the lake differs from the service, `without` those days; empty is right. */
  wrong(without?: Without): Promise<JsonObject[]>;
  /** The places where a token, a secret or a digest was printed or stored; empty is right. */
  leaks(): Promise<string[]>;
  close(): Promise<void>;
}

/** A strict service with its data, the settings and credentials to reach it, and a lake that does not exist yet. */
export async function openScenario(options: {
  now: string;
  brands?: readonly BrandPlan[];
  interpretation?: Interpretation;
  /** The end of the data, in scenarios that let time pass. */
  until?: string;
  settings?: JsonObject;
}): Promise<Scenario> {
  const { now, brands: plans = [newYork], interpretation = plainInterpretation, until = now } = options;
  const folder = await mkdtemp(join(tmpdir(), 'brand-reports-'));
  const lake = join(folder, 'the lake');
  const brands = plans.map((plan, index) => brandOf(plan, index, interpretation, until));
  const service = await startStrictService({ brands, interpretation, present: Date.parse(now) });
  const byName = (toValue: (plan: BrandPlan, index: number) => Json) =>
    Object.fromEntries(plans.map((plan, index) => [plan.name, toValue(plan, index)]));
  const settings = byName((plan) =>
    brandSettings(plan, service, { ...settingsFor(interpretation), ...options.settings }),
  );
  const credentials = byName((_plan, index) => {
    const { bid = '', token = '', secret = '' } = brands[index] ?? {};
    return { bid, token, secret };
  });
  const write = async (name: string, content: Json) => {
    await writeFile(join(folder, name), JSON.stringify(content), { mode: 0o600 });
    return join(folder, name);
  };
  const files = [
    [
      '--settings',
      await write('settings.json', { brands: settings, requestsPerSecond: 1000, pagesInFlight: 4 }),
    ],
    ['--credentials', await write('credentials.json', credentials)],
    ['--lake', lake],
  ].flat();
  const printed: string[] = [];

  return {
    service,
    async sync(args = [], how = {}) {
      const command = [commandLine, 'sync', ...args, ...files, '--now', how.now ?? now, '--json'];
      const run = await start(command, folder, diesAt(service, how.killAfterCalls));
      printed.push(run.stdout, run.stderr);
      return run;
    },
    async wrong(without = {}) {
      const found: JsonObject[] = [];
      for (const table of tables) {
        const there = await readLakeTable(lake, table);
        for (const [index, brand] of brands.entries()) {
          const { name = '', startDate = '', filters = {} } = plans[index] ?? {};
          const expected = [...service.held(brand, table, filters[filteredBy[table]])].filter(
            ([dt]) => dt >= startDate && !without[table]?.includes(dt),
          );
          const { held, recordOf } = shownIn(table, brand.holdings);
          const unlike = differences(there, name, new Map(expected), held.map(recordOf));
          found.push(...unlike.map((difference) => ({ table, brand: name, ...difference })));
        }
      }
      return found;
    },
    leaks: () => leaksIn(lake, printed, service),
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Credentials of characters that a URL, JSON and the signed text must each escape. */
function brandOf(
  { timeZone, startDate }: BrandPlan,
  index: number,
  interpretation: Interpretation,
  until: string,
): Brand {
  return {
    bid: `90071992547409${93 + index}`,
    token: `tok+${index}/a25fb1225425ae360e=`,
    secret: `sec&${index};65906f8ecdaf1147bca07d"`,
    timeZone,
    holdings: holdingsOf({
      seed: 7 + index,
      timeZone,
      startDate,
      until: Date.parse(until),
      pageSize: servedPerPage(pageSize, interpretation),
      limit: servedPerPage(limit, interpretation),
    }),
  };
}

function brandSettings(plan: BrandPlan, service: StrictService, more: JsonObject): JsonObject {
  const reports = Object.entries(reportSettings).map(([report, size]) => {
    const filters = plan.filters?.[report];
    return [report, { ...size, ...(filters && { filters }) }];
  });
  return {
    baseUrl: service.baseUrl,
    service: service.name,
    timeZone: plan.timeZone,
    startDate: plan.startDate,
    secretName: `brand-reports/${plan.name}`,
    ...more,
    reports: Object.fromEntries(reports),
  };
}

/** Resolves after the service has responded to so many more calls. */
function diesAt({ served }: StrictService, calls = Number.POSITIVE_INFINITY): () => boolean {
  const already = served.length;
  return () => served.length - already >= calls;
}

/** Runs in its own zone, and inherits nothing that could help or mislead. Kills the run as soon as `dies` resolves. */
async function start(args: string[], cwd: string, dies: () => boolean): Promise<Run> {
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, TZ: 'Asia/Kolkata' };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setInterval(() => dies() && child.kill('SIGKILL'), 1);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve)),
  ]).finally(() => clearInterval(timer));
  return { code, stdout, stderr, outcome: code === null ? undefined : outcomeOf({ code, stdout, stderr }) };
}

const codes: Record<string, number> = { complete: 0, failed: 1, incomplete: 3, busy: 4 };

/** The one JSON document of `--json`; its status agrees with the exit code. */
function outcomeOf({
  code,
  stdout,
  stderr,
}: {
  code: number;
  stdout: string;
  stderr: string;
}): JsonObject | undefined {
  if (code === 2) return undefined;
  let outcome: Json;
  try {
    // The lines before the document are the events of days.
    outcome = JSON.parse(stdout.trim().split('\n').at(-1) ?? '', (_name, value) => value);
  } catch {
    throw new Error(`exit code ${code}, and stdout is not JSON:\n${stdout}\n${stderr}`);
  }
  if (!isJsonObject(outcome) || codes[String(outcome.status)] !== code)
    throw new Error(`exit code ${code} does not go with ${stdout}`);
  return outcome;
}

/** The outcome of each day of a run, as `<report> <day>`. */
export function dayOutcomes(run: Run): Map<string, string> {
  const objects = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
  const found = objects(run.outcome?.reports).flatMap((report) =>
    objects(report.days).map((day) => [`${report.report} ${day.dt}`, String(day.outcome)] as const),
  );
  return new Map(found);
}

/** Searches printed text as it is, unpacks objects, and reads Parquet row by row. */
async function leaksIn(lake: string, printed: readonly string[], service: StrictService): Promise<string[]> {
  const places = printed.map((text, index) => ({ place: `output ${index}`, text }));
  const entries = existsSync(lake) ? await readdir(lake, { recursive: true, withFileTypes: true }) : [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    places.push({ place: path, text: unpacked(path, await readFile(path)) });
  }
  for (const table of [...tables, 'coverage']) {
    const { rows } = await readLakeTable(lake, table);
    places.push({
      place: `rows of ${table}`,
      text: rows.flatMap(({ values }) => [...values.values()]).join('\n'),
    });
  }
  const secrets = service.brands.flatMap(({ token, secret }) => [token, secret]);
  return placesWith(places, service, secrets);
}

export function unpacked(name: string, bytes: Buffer): string {
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
}

/** The places whose text has a secret or a digest. */
export function placesWith(
  places: readonly { place: string; text: string }[],
  { digests }: StrictService,
  secrets: readonly string[],
): string[] {
  // No encoding of a URL, of JSON or of a header changes letters and digits.
  const marks = secrets.flatMap((one) => one.match(/\w{12,}/g) ?? []);
  const shows = (text: string) =>
    marks.some((mark) => text.includes(mark)) ||
    (text.match(/[0-9a-f]{64}/g) ?? []).some((digest) => digests.has(digest));
  return places.filter(({ text }) => shows(text)).map(({ place }) => place);
}

/** The settings of a report's pages, with the reading of details enabled. */
export const reportSettings: Readonly<Record<string, JsonObject>> = {
  clicks_list: { page_size: pageSize },
  clicks_detail: { enabled: true },
  order_list: { page_size: pageSize },
  transaction_list: { limit },
  amazon_attribution_report: { limit },
};
