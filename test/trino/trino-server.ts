/** Starts a Trino server that reads a Glue catalog and S3 like Athena, and sends it statements. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { isRawNumber, parseJson } from '../../shared/base/json.ts';

const STARTS_WITHIN_MS = 600_000;
const { TRINO_VERSION = '', TRINO_JAVA = 'java', TRINO_SERVER = '' } = process.env;

/** Athena's name of the catalog, which the views use. */
const CATALOG = 'awsdatacatalog';

export interface TrinoAnswer {
  columns: { name: string; type: string }[];
  /** Each value as Trino writes it; numbers keep their digits. */
  rows: (string | null)[][];
}

const pageSchema = z.object({
  nextUri: z.optional(z.string()),
  columns: z.optional(z.array(z.object({ name: z.string(), type: z.string() }))),
  data: z.optional(z.array(z.array(z.unknown()))),
  error: z.optional(z.object({ errorName: z.string(), message: z.string() })),
});

/** The properties whose names differ between the two versions. */
const S3: Readonly<Record<string, (url: string) => string[]>> = {
  '476': (url) => [
    'fs.native-s3.enabled=true',
    `s3.endpoint=${url}`,
    ...[
      's3.region=us-east-1',
      's3.path-style-access=true',
      's3.aws-access-key=test',
      's3.aws-secret-key=test',
    ],
  ],
  '368': (url) => [
    `hive.s3.endpoint=${url}`,
    ...['hive.s3.path-style-access=true', 'hive.s3.ssl.enabled=false'],
    ...['hive.s3.aws-access-key=test', 'hive.s3.aws-secret-key=test'],
  ],
};

/**
 * Starts the server that `TRINO_SERVER` names.
 * @param url of the local AWS
 * @param folder for its settings, data and log
 * @param database in which names are looked up
 * @throws Error with the end of its log if it does not start
 */
export async function startTrino(url: string, folder: string, database: string, port: number) {
  const path = (...names: string[]) => join(folder, ...names);
  await Promise.all(['catalog', 'plugin', 'data'].map((name) => mkdir(path(name), { recursive: true })));
  await symlink(join(TRINO_SERVER, 'plugin', 'hive'), path('plugin', 'hive'));
  await writeFile(
    path('config.properties'),
    [
      ...['coordinator=true', 'node-scheduler.include-coordinator=true', `http-server.http.port=${port}`],
      ...[`discovery.uri=http://127.0.0.1:${port}`, `plugin.dir=${path('plugin')}`],
      `catalog.config-dir=${path('catalog')}`,
    ].join('\n'),
  );
  await writeFile(
    path('catalog', `${CATALOG}.properties`),
    [
      ...['connector.name=hive', 'hive.metastore=glue', 'hive.metastore.glue.region=us-east-1'],
      `hive.metastore.glue.endpoint-url=${url}`,
      ...['hive.metastore.glue.aws-access-key=test', 'hive.metastore.glue.aws-secret-key=test'],
      // moto ignores segments, so each segment would have all partitions; it also has no statistics of columns.
      ...['hive.metastore.glue.partitions-segments=1', 'hive.table-statistics-enabled=false'],
      ...(S3[TRINO_VERSION]?.(url) ?? []),
    ].join('\n'),
  );
  const log = await open(path('log'), 'w');
  const options = [
    ...['-Xmx2G', '-Duser.timezone=UTC', '-Djdk.attach.allowAttachSelf=true', '-Dnode.environment=test'],
    ...['-Dnode.id=test', `-Dnode.data-dir=${path('data')}`, `-Dconfig=${path('config.properties')}`],
    ...(TRINO_VERSION === '476' ? ['--add-modules=jdk.incubator.vector'] : []),
  ];
  const main = ['-cp', join(TRINO_SERVER, 'lib', '*'), 'io.trino.server.TrinoServer'];
  const server = spawn(TRINO_JAVA, [...options, ...main], { cwd: folder, stdio: ['ignore', log.fd, log.fd] });
  await log.close();
  const close = async () => {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'close');
  };

  /** @throws Error with Trino's message */
  async function query(sql: string): Promise<TrinoAnswer> {
    const headers = {
      ...{ 'X-Trino-User': 'test', 'X-Trino-Catalog': CATALOG, 'X-Trino-Schema': database },
      'X-Trino-Time-Zone': 'UTC',
    };
    const answer: TrinoAnswer = { columns: [], rows: [] };
    let page = await pageOf(
      await fetch(`http://127.0.0.1:${port}/v1/statement`, { method: 'POST', headers, body: sql }),
    );
    for (;;) {
      const { nextUri, columns = [], data = [], error } = page;
      if (error) throw new Error(`${error.errorName}: ${error.message}\n${sql}`);
      if (columns.length > 0) answer.columns = columns;
      for (const row of data) answer.rows.push(row.map(textOf));
      if (nextUri === undefined) return answer;
      page = await pageOf(await fetch(nextUri, { headers }));
    }
  }

  const ends = Date.now() + STARTS_WITHIN_MS;
  for (;;) {
    if (await query('SELECT 1').catch(() => undefined)) return { query, close };
    if (server.exitCode !== null || Date.now() > ends) {
      await close();
      throw new Error(`Trino did not start: ${(await readFile(path('log'), 'utf8')).slice(-3000)}`);
    }
    await sleep(1000);
  }
}

async function pageOf(response: Response) {
  const text = await response.text();
  if (!response.ok) throw new Error(`Trino answered ${response.status}: ${text}`);
  return z.parse(pageSchema, parseJson(text));
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return isRawNumber(value) ? value.rawJSON : String(value);
}
