/* A lake is copied with the commands of docs/how-to/copy-and-restore.md, and the copy answers as the lake does. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { databaseFile } from '../../cli/open-database.ts';
import { addDays, monthOf } from '../../shared/base/days.ts';
import { DOCUMENT_PREFIXES, OTHER_PREFIXES, WATCH_KEY } from '../../shared/lake/paths.ts';
import { textOf } from '../docs/pages.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { filesIn, uploadFolder } from '../fakes/upload-folder.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;
let closed: string;
let now: string[];
let before: string;
let wanted: string[];

beforeAll(async () => {
  // The first day is in an earlier month, which can be closed. Four days are enough.
  const dayOfMonth = new Date().getUTCDate();
  sample = await serveSampleBrand({ daysBefore: dayOfMonth + 1 });
  closed = monthOf(sample.firstDay);
  now = dayOfMonth > 3 ? ['--now', `${addDays(sample.firstDay, 3)}T18:00:00Z`] : [];
  s3 = await startS3Server({ bucket: 'acme-reports', pageSize: 50 });
  glue = await startGlueServer('brand_reports');
  await sample.writeSettings('settings.json', { catalogs: ['hive', 'iceberg'] });
  await done('sync', ...now, ...sample.flags);
  await done('close', closed, '--anyway', '--lake', sample.lake);
  before = new Date().toISOString();
  sample.alter('order_list', sample.firstDay, () => ({ status: 'void' }));
  await done('sync', 'order_list', '--from', sample.firstDay, '--to', sample.firstDay, ...sample.flags);
  await done('open', '--lake', sample.lake);
  wanted = await answersOf(sample.lake);
  for (const ofThen of wanted.slice(3, 5)) expect(ofThen).toContain('effective');
});
afterAll(() => Promise.all([s3, glue, sample].map((each) => each?.close())));

async function run(...args: string[]) {
  const env = {
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' },
    ...{ AWS_ENDPOINT_URL_S3: s3.url, AWS_ENDPOINT_URL_GLUE: glue.url },
    XDG_CACHE_HOME: join(sample.folder, 'cache'),
  };
  return runCli(args, { env, cwd: sample.folder });
}

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

const withoutLake = () => sample.flags.slice(0, 4);

/** Rows and changes of closed days, the rows of an earlier time and of a close, and the versions of a day. */
async function answersOf(lake: string): Promise<string[]> {
  const query = (...args: string[]) => done('query', '--json', '--lake', lake, ...args);
  const day = `WHERE dt = '${sample.firstDay}' ORDER BY ALL`;
  const states = `SELECT status, count(*) AS n FROM orders WHERE dt = '${sample.firstDay}' GROUP BY ALL ORDER BY ALL`;
  return [
    await query(`SELECT * EXCLUDE _synced_at FROM orders ${day}`),
    await query(`SELECT * FROM restatements ${day}`),
    await query('SELECT * FROM since_close ORDER BY ALL'),
    await query('--as-of', before, states),
    await query('--as-of', closed, states),
    await done('rollback', 'order_list', sample.firstDay, '--json', '--lake', lake),
  ];
}

/** @returns whether the `aws s3 sync` of the page copies a file */
function copiedAsOnPage(command: RegExp): (path: string) => boolean {
  const [line = ''] = command.exec(textOf('docs/how-to/copy-and-restore.md')) ?? [];
  const excluded = [...line.matchAll(/--exclude '([^']+)'/g)].map(([, pattern = '']) => pattern);
  expect(excluded).toContain('*/state.json');
  // An asterisk of the AWS command also matches slashes.
  const flat = (path: string) => path.replaceAll('/', '-');
  return (path) => !excluded.some((pattern) => matchesGlob(flat(path), flat(pattern)));
}

/** The places of the partitions in Glue, by table. */
function locations(table: string): unknown[] {
  const partitions = glue.tables.get(table)?.partitions.values() ?? [];
  return [...partitions].map(({ StorageDescriptor }) => StorageDescriptor);
}

it('cp -a copies a folder, and the next sync reads and writes nothing of the old folder', async () => {
  const copy = join(sample.folder, 'lake-copy');
  execFileSync('cp', ['-a', sample.lake, copy]);
  expect(await answersOf(copy)).toEqual(wanted);
  await done('sync', ...now, ...withoutLake(), '--lake', copy);
  expect(await answersOf(copy)).toEqual(wanted);
  await done('verify', '--lake', copy);
  for (const table of readdirSync(join(copy, 'iceberg'))) {
    const metadata = join(copy, 'iceberg', table, 'metadata');
    const newest = readFileSync(join(metadata, 'version-hint.text'), 'utf8');
    expect(readFileSync(join(metadata, `v${newest}.metadata.json`), 'utf8')).not.toContain(`${sample.lake}/`);
  }
  expect(readFileSync(databaseFile(copy)).includes(`${sample.lake}/`)).toBe(false);
  // The old lake is gone: nothing of the copy leads there.
  execFileSync('mv', [sample.lake, `${sample.lake}-gone`]);
  expect(await answersOf(copy)).toEqual(wanted);
  await done('verify', '--lake', copy);
  execFileSync('mv', [`${sample.lake}-gone`, sample.lake]);
});

it('aws s3 sync copies a folder to a bucket and back, and the next sync creates the catalog', async () => {
  const isWanted = copiedAsOnPage(/aws s3 sync \.\/lake s3:.*/);
  uploadFolder(s3, sample.lake, { prefix: 'lake/', isWanted });
  const known = [...DOCUMENT_PREFIXES, ...OTHER_PREFIXES].map((prefix) => `lake/${prefix}`);
  expect([...s3.objects.keys()].filter((key) => !known.some((prefix) => key.startsWith(prefix)))).toEqual([]);
  const bucket = ['--lake', 's3://acme-reports/lake'];
  const inGlue = [...bucket, '--database', 'brand_reports'];
  expect(await answersOf('s3://acme-reports/lake')).toEqual(wanted);
  await done('sync', ...now, ...withoutLake(), ...inGlue);
  expect(await answersOf('s3://acme-reports/lake')).toEqual(wanted);
  await done('verify', ...inGlue);
  const days = filesIn(join(sample.lake, 'current/orders')).length;
  for (const table of ['orders', 'transactions']) {
    const Location = expect.stringContaining(`s3://acme-reports/lake/snapshots/${table}/`);
    expect(locations(table)).toEqual(Array(days).fill(expect.objectContaining({ Location })));
  }
  // Views are written by deployed functions only.
  expect([...glue.tables.keys()]).toEqual(expect.arrayContaining(['orders_before', 'coverage']));
  expect(glue.icebergTables.size).toBeGreaterThan(0);
  // A closed month that is closed again is refused, after its partitions were added.
  expect(locations('closes')).toEqual([]);
  expect(await run('close', closed, ...inGlue)).toMatchObject({ code: 2, stdout: '' });
  expect(locations('closes')).not.toEqual([]);

  const back = join(sample.folder, 'back');
  s3.objects.set(`lake/${WATCH_KEY}`, { body: Buffer.from('{}'), etag: '"1"', modifiedAt: new Date() });
  const isWantedBack = copiedAsOnPage(/aws s3 sync s3:\S+ \.\/lake .*/);
  for (const [key, { body }] of s3.objects) {
    const path = key.slice('lake/'.length);
    if (!isWantedBack(path)) continue;
    mkdirSync(dirname(join(back, path)), { recursive: true });
    writeFileSync(join(back, path), body);
  }
  expect(readdirSync(back).sort()).toEqual(['closes', 'leases', 'ledger', 'raw', 'schema', 'snapshots']);
  await done('sync', ...now, ...withoutLake(), '--lake', back);
  expect(await answersOf(back)).toEqual(wanted);
  await done('verify', '--lake', back);
  expect(filesIn(join(back, 'current/orders'))).toHaveLength(days);
}, 120_000);
