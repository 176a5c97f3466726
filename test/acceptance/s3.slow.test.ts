import { afterEach, describe, expect, it } from '@jest/globals';
import type { CliResult } from '../cli/run-cli.ts';
import { AwsFault } from '../fakes/aws-json-server.ts';
import { database, killed, openS3Scenario, type S3Scenario, secretName } from './s3-scenario.ts';

const now = '2026-11-03T15:20:00Z';
const withGlue = ['--database', database];
/** The first of five days, with days of all sizes. */
const twoMonths = '2026-10-30';
let opened: S3Scenario | undefined;

async function open(startDate = '2026-11-02'): Promise<S3Scenario> {
  opened = await openS3Scenario({ now, startDate });
  return opened;
}

/** Checks after every scenario that no secret was printed or stored, and that the service refused nothing. */
afterEach(async () => {
  try {
    expect(opened?.service.refusals).toEqual([]);
    expect(opened?.leaks()).toEqual([]);
  } finally {
    await opened?.close();
    opened = undefined;
  }
});

function expectCode({ code, stdout, stderr }: CliResult, expected: number): void {
  expect({ code, why: code === expected ? '' : stdout + stderr }).toEqual({ code: expected, why: '' });
}

async function expectToComplete(scenario: S3Scenario): Promise<void> {
  expectCode(await scenario.sync(...withGlue), 0);
  expect(await scenario.wrong()).toEqual([]);
}

/** A run that was killed prints no outcome. */
async function expectToDie(scenario: S3Scenario): Promise<void> {
  expect(await scenario.sync(...withGlue)).toMatchObject({ code: killed, stdout: '' });
  scenario.service.fault = () => undefined;
}

/** Calls `act` after every so many responses of the service. */
function every(scenario: S3Scenario, calls: number, act: () => void): void {
  let seen = 0;
  scenario.service.fault = () => {
    seen += 1;
    if (seen % calls === 0) act();
    return undefined;
  };
}

describe('a lake in S3, read through Glue', () => {
  it('I1: has exactly the records of the service after one run or two, for every command', async () => {
    const scenario = await open(twoMonths);
    expect((await scenario.wrong()).length).toBeGreaterThan(10);
    for (let run = 0; run < 3; run += 1) await expectToComplete(scenario);
    expect(await scenario.wrongByLedger()).toEqual([]);

    const rows = scenario.rows();
    const sql = 'SELECT dt, count(*) AS rows FROM orders GROUP BY dt ORDER BY dt';
    const query = await scenario.run('query', sql, '--json');
    expectCode(query, 0);
    expect(JSON.parse(query.stdout)).toEqual(
      rows.flatMap(({ table, dt, rows }) => (table === 'orders' && rows > 0 ? [{ dt, rows }] : [])),
    );
    const status = await scenario.run('status', '--settings', scenario.settings, '--now', now, '--json');
    expectCode(status, 0);
    expect(JSON.parse(status.stdout).tables).toMatchObject(
      [...Map.groupBy(rows, ({ table }) => table)].map(([table, days]) => ({
        table,
        days: days.map(({ dt, rows }) => ({ dt, rows })),
      })),
    );
    const verify = await scenario.run('verify', '--json');
    expectCode(verify, 0);
    expect(JSON.parse(verify.stdout)).toMatchObject({ status: 'ok' });
    expect(verify.stdout.match(/"days":5/g)).toHaveLength(5);
  });

  it('I5: waits for the days of a run that was just killed, and takes them over after a minute', async () => {
    const scenario = await open();
    every(scenario, 20, scenario.kill);
    await expectToDie(scenario);
    expect((await scenario.sync(...withGlue)).code).toBe(3);
    scenario.letLeasesLapse();
    await expectToComplete(scenario);
  });

  it('I4: is complete after repeated SIGKILL between a commit and its publication', async () => {
    const scenario = await open(twoMonths);
    // By its sixth write, settled days are committed, and no policy reads them again.
    for (const writes of [6, 1]) {
      beforeGlueWrite(scenario, writes, scenario.kill);
      await expectToDie(scenario);
      expect((await scenario.wrongByLedger()).length).toBeLessThan((await scenario.wrong()).length);
      scenario.letLeasesLapse();
    }
    await expectToComplete(scenario);
  });

  it('I4: is complete after temporary failures of AWS', async () => {
    const scenario = await open(twoMonths);
    const { s3, glue } = scenario;
    const passing = [
      () => (s3.faults.conflicts = 2),
      () => (s3.faults.unavailable = 1),
      () => (s3.faults.loseAnswer = true),
      () =>
        (glue.faults.beforeWrite = () => {
          throw new AwsFault('InternalServiceException', 'try again', 500);
        }),
    ];
    let next = 0;
    every(scenario, 6, () => passing[next++ % passing.length]?.());
    await expectToComplete(scenario);
    expect(next).toBeGreaterThan(20);
  });
});

function beforeGlueWrite(scenario: S3Scenario, writes: number, act: () => void): void {
  scenario.glue.faults.beforeWrite = () => {
    if (writes > 1) return beforeGlueWrite(scenario, writes - 1, act);
    act();
    throw new Error('gone before it was written');
  };
}

it('I1: a lake in S3 without a database equals its ledgers', async () => {
  const scenario = await open(twoMonths);
  expectCode(await scenario.sync(), 0);
  expect(await scenario.wrongByLedger()).toEqual([]);
  expect(scenario.glue.tables.size).toBe(0);
});

describe('a run on S3 that needs an operator', () => {
  it.each<[string, (scenario: S3Scenario) => void, string[], string]>([
    ['a missing key is refused', ({ s3 }) => (s3.faults.refuseMissing = true), withGlue, 's3:ListBucket'],
    ['the bucket does not exist', () => {}, ['--lake', 's3://nowhere/x'], 'bucket nowhere'],
    ['the database does not exist', () => {}, ['--database', 'none'], 'aws glue create-database'],
    ['Glue is refused', ({ glue }) => (glue.faults.deny = 'no'), withGlue, 'glue:GetTable'],
    [
      'the secret does not exist',
      ({ secrets }) => secrets.secrets.clear(),
      withGlue,
      `aws secretsmanager create-secret --name '${secretName}'`,
    ],
    [
      'the secret is refused',
      ({ secrets }) => secrets.secrets.set(secretName, new AwsFault('AccessDeniedException', 'no')),
      withGlue,
      'secretsmanager:GetSecretValue',
    ],
  ])('prints the next step if %s', async (_what, fail, args, advice) => {
    const scenario = await open();
    fail(scenario);
    const run = await scenario.sync(...args);
    expectCode(run, 1);
    expect(run.stdout).toContain(advice);
    expect(run.stdout).toContain('"kind":"config"');
  });
});
