import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;
let before: string;
beforeAll(async () => {
  sample = await serveSampleBrand();
  s3 = await startS3Server({ bucket: 'backup', pageSize: 50 });
  glue = await startGlueServer('brand_reports');
  expect((await runCli(['sync', ...sample.flags])).code).toBe(0);
  before = new Date().toISOString();
  sample.alter('order_list', sample.firstDay, () => ({ status: 'void' }));
  const day = ['--from', sample.firstDay, '--to', sample.firstDay];
  expect((await runCli(['sync', 'order_list', ...day, ...sample.flags])).code).toBe(0);
});
afterAll(async () => {
  await Promise.all([s3, glue, sample].map((each) => each.close()));
});

function brandReports(...args: string[]) {
  const env = {
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' },
    ...{ AWS_ENDPOINT_URL_S3: s3.url, AWS_ENDPOINT_URL_GLUE: glue.url },
    XDG_CACHE_HOME: join(sample.folder, 'cache'),
  };
  return runCli(args, { env });
}

const BUCKET = 's3://backup/lake';
const SETTINGS = '--settings';

/** The queries of people: rows, changes, the rows of an earlier time, and the versions of a day. */
async function answersOf(lake: string): Promise<string[]> {
  const query = async (...args: string[]) =>
    (await brandReports('query', '--json', '--lake', lake, ...args)).stdout;
  const rows = (table: string) => `(SELECT list(t) FROM (SELECT * FROM ${table} ORDER BY ALL) t) AS ${table}`;
  return [
    await query(`SELECT ${['orders', 'changes_daily', 'restatements'].map(rows).join(', ')}`),
    await query('--as-of', before, 'SELECT status, count(*) AS n FROM orders GROUP BY ALL ORDER BY ALL'),
    (await brandReports('rollback', 'order_list', sample.firstDay, '--json', '--lake', lake)).stdout,
  ];
}

it('a lake moves from a folder to a bucket and back, and every answer is the same', async () => {
  const back = join(sample.folder, 'a lake that is back');
  const wanted = await answersOf(sample.lake);
  const [, file = ''] = sample.flags;
  const up = await brandReports('copy', sample.lake, BUCKET, '--database', 'brand_reports', SETTINGS, file);
  expect([up.code, up.stdout]).toEqual([
    0,
    expect.stringMatching(/^complete: (\d+) objects of [\d,]+ bytes, \1 of them copied now\.\n/),
  ]);
  expect(await answersOf(BUCKET)).toEqual(wanted);
  const locations = [...(glue.tables.get('orders')?.partitions.values() ?? [])].map(
    ({ StorageDescriptor }) => StorageDescriptor,
  );
  expect(locations).toHaveLength(3);
  for (const each of locations)
    expect(each).toMatchObject({ Location: expect.stringContaining(`${BUCKET}/snapshots/orders/`) });

  const down = await brandReports('copy', BUCKET, back, '--json', SETTINGS, file);
  expect([down.code, JSON.parse(down.stdout)]).toMatchObject([
    0,
    { status: 'complete', from: BUCKET, to: back },
  ]);
  expect(await answersOf(back)).toEqual(wanted);
  // The printed command runs.
  const [verify = ''] = /(?<=npx brand-reports )verify .*/.exec(up.stdout) ?? [];
  expect(verify).toContain(`--lake ${BUCKET} --database brand_reports`);
  expect(await brandReports('verify', '--json', '--lake', back)).toMatchObject({ code: 0 });
  const { versions } = JSON.parse(wanted.at(-1) ?? '');
  const to = ['--to', versions[0].snapshot, '--lake', back];
  expect(await brandReports('rollback', 'order_list', sample.firstDay, ...to)).toMatchObject({ code: 0 });
  expect(await brandReports('sync', ...sample.flags.slice(0, 4), '--lake', back)).toMatchObject({ code: 0 });
  const again = await brandReports('copy', BUCKET, back);
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringContaining('complete: the copy was finished before'),
  ]);
  const refused = await brandReports('copy', sample.lake, back, '--json');
  expect([refused.code, JSON.parse(refused.stdout).error.code]).toEqual([2, 'other_data']);
});
