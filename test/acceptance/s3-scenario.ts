import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../shared/json.ts';
import { RATES_PREFIX } from '../../shared/lake/paths.ts';
import { type CliResult, startCli } from '../cli/run-cli.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';
import { holdingsOf, shownIn, tables } from '../strict-service/data.ts';
import { dayOf, daysBetween } from '../strict-service/days.ts';
import { plainInterpretation } from '../strict-service/interpretations.ts';
import { type Brand, type StrictService, startStrictService } from '../strict-service/service.ts';
import { bringDown, catalogued, committed, hindrances } from './athena.ts';
import { limit, newYork, pageSize, placesWith, reportOf, reportSettings, unpacked } from './harness.ts';
import { differences, readLakeTable } from './lake.ts';

export const database = 'brand_reports';
export const secretName = 'brand-reports/acme';
const bucket = 'lake';
const lake = `s3://${bucket}/team/reports`;
const { name, timeZone } = newYork;

type Doubles = {
  s3: Awaited<ReturnType<typeof startS3Server>>;
  glue: Awaited<ReturnType<typeof startGlueServer>>;
  secrets: Awaited<ReturnType<typeof startSecretsServer>>;
};

/** The exit code of a run that was killed, as shells report it. */
export const killed = 137;

export interface S3Scenario extends Doubles {
  readonly service: StrictService;
  readonly brand: Brand;
  /** The file with the settings. */
  readonly settings: string;
  /** Runs a command on the lake with AWS's environment variables; credentials are in Secrets Manager. */
  run(command: string, ...args: string[]): Promise<CliResult>;
  /** `sync` of all reports, with `--json`. */
  sync(...args: string[]): Promise<CliResult>;
  /** Kills every run in progress, as `kill -9` does. */
  readonly kill: () => void;
  /** How the rows in Athena differ from the service; empty is right. */
  wrong(): Promise<JsonObject[]>;
  /** How the rows that the ledgers name differ from the service; empty is right. */
  wrongByLedger(): Promise<JsonObject[]>;
  /** The expected number of rows of each day of each table. */
  rows(): { table: string; dt: string; rows: number }[];
  /** As though a minute went by: a run that is gone no longer holds its days or its rate. */
  letLeasesLapse(): void;
  /** The places where a token, a secret or a digest was printed or stored; empty is right. */
  leaks(): string[];
  close(): Promise<void>;
}

/** The days that can be read, up to the present. */
interface Span {
  now: string;
  startDate: string;
}

/** A strict service, S3, Glue and Secrets Manager, and a lake in that bucket that does not exist yet. */
export async function openS3Scenario({ now, startDate }: Span): Promise<S3Scenario> {
  const folder = await mkdtemp(join(tmpdir(), 'brand-reports-'));
  const account = {
    bid: '9007199254740993',
    token: 'tok+a25fb1225425ae360e=',
    secret: 'sec&65906f8ecdaf11;',
  };
  const data = { seed: 11, timeZone, startDate, until: Date.parse(now), pageSize, limit };
  const acme = { ...account, timeZone, holdings: holdingsOf(data) };
  const everHeld = Object.fromEntries(
    tables.map((table) => {
      const { held, recordOf } = shownIn(table, acme.holdings);
      return [table, held.map(recordOf)];
    }),
  );
  const service = await startStrictService({
    brands: [acme],
    interpretation: plainInterpretation,
    present: Date.parse(now),
  });
  const s3 = await startS3Server({ bucket, pageSize: 50 });
  const glue = await startGlueServer(database);
  const secrets = await startSecretsServer();
  secrets.secrets.set(secretName, JSON.stringify({ ...account, baseUrl: service.baseUrl }));
  const settings = join(folder, 'settings.json');
  await writeFile(settings, JSON.stringify(settingsOf(service, startDate)));

  const env = {
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'aws+secret/3f9ac1d2e4b5',
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_ENDPOINT_URL_GLUE: glue.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  };
  const printed: string[] = [];
  const running = new Set<ReturnType<typeof startCli>>();

  async function run(command: string, ...args: string[]): Promise<CliResult> {
    const cli = startCli([command, '--lake', lake, ...args], { env });
    running.add(cli);
    const { stdout, stderr } = await cli.result.finally(() => running.delete(cli));
    printed.push(stdout, stderr);
    return { stdout, stderr, code: cli.process.exitCode ?? killed };
  }

  /** Downloads the objects of these partitions. */
  async function brought(partitions: ReturnType<typeof catalogued>): Promise<string> {
    const copy = await mkdtemp(join(folder, 'read-'));
    await Promise.all(partitions.map((partition) => bringDown(partition, s3.objects, copy)));
    return copy;
  }

  async function unlike(copy: string): Promise<JsonObject[]> {
    const found: JsonObject[] = [];
    for (const table of tables) {
      const expected = [...service.held(acme, table)].filter(([dt]) => dt >= startDate);
      const there = await readLakeTable(copy, table);
      const differing = differences(there, name, new Map(expected), everHeld[table] ?? []);
      found.push(...differing.map((difference) => ({ table, ...difference })));
    }
    return found;
  }

  const scenario: S3Scenario = {
    service,
    brand: acme,
    s3,
    glue,
    secrets,
    run,
    sync: (...args) => run('sync', ...args, '--settings', settings, '--now', now, '--json'),
    settings,
    kill: () => {
      for (const { process } of running) process.kill('SIGKILL');
    },
    async wrong() {
      const copy = await brought(catalogued(glue.tables));
      const coverage = await rowsByCoverage(copy);
      return [
        ...hindrances(glue.tables, s3.objects).map((hindrance) => ({ hindrance })),
        ...(await unlike(copy)),
        ...scenario.rows().flatMap(({ table, dt, rows }) => {
          const covered = coverage.get(`${table} ${dt}`) ?? null;
          return covered === String(rows) ? [] : [{ table, dt, rows, covered }];
        }),
      ];
    },
    wrongByLedger: async () => unlike(await brought(committed(s3.objects, lake, tableOf))),
    rows: () =>
      tables.flatMap((table) => {
        const held = service.held(acme, table);
        const days = daysBetween(startDate, dayOf(Date.parse(now), timeZone));
        return days.map((dt) => ({ table, dt, rows: held.get(dt)?.length ?? 0 }));
      }),
    letLeasesLapse: () => backdate(s3.objects, 61_000),
    leaks() {
      const outputs = printed.map((text, index) => ({ place: `output ${index}`, text }));
      const stored = [...s3.objects].map(([key, { body }]) => ({ place: key, text: unpacked(key, body) }));
      const secrets = [account.token, account.secret, env.AWS_SECRET_ACCESS_KEY];
      return placesWith([...outputs, ...stored], service, secrets);
    },
    async close() {
      for (const { client } of [s3, glue, secrets]) client.destroy();
      await Promise.all([service, s3, glue, secrets].map((server) => server.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return scenario;
}

/** The rows of each day in the table `coverage`, by `orders 2026-01-31`. */
async function rowsByCoverage(copy: string): Promise<Map<string, string>> {
  const { rows } = await readLakeTable(copy, 'coverage');
  return new Map(
    rows.map(({ dt, values }) => [`${tableOf(values.get('report') ?? '')} ${dt}`, values.get('rows') ?? '']),
  );
}

function settingsOf(service: StrictService, startDate: string): JsonObject {
  const acme = {
    baseUrl: service.baseUrl,
    service: service.name,
    timeZone,
    startDate,
    secretName,
    reports: reportSettings,
  };
  return { brands: { [name]: acme }, requestsPerSecond: 1000, pagesInFlight: 4 };
}

function tableOf(report: string): string {
  return tables.find((table) => reportOf[table] === report) ?? '';
}

/** Sets every claim and every renewal of a lease back in time; etags change with their documents. */
function backdate(objects: Doubles['s3']['objects'], ms: number): void {
  for (const [key, { body, modifiedAt }] of objects) {
    if (key.includes(`/${RATES_PREFIX}`)) objects.delete(key);
    if (!/\/(progress|\d{4}-\d\d)\.json$/.test(key)) continue;
    const earlier = body
      .toString()
      .replaceAll(
        /"(at|renewedAt)":"([^"]+)"/g,
        (_match, name, time) => `"${name}":"${new Date(Date.parse(time) - ms).toISOString()}"`,
      );
    objects.set(key, { body: Buffer.from(earlier), etag: `"${hash('md5', earlier)}"`, modifiedAt });
  }
}
