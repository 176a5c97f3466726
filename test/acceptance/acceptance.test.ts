import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { httpDate, type Table } from '../strict-service/data.ts';
import { readings } from '../strict-service/readings.ts';
import {
  contractFaults,
  detailFaults,
  type Fault,
  passingFaults,
  type Served,
} from '../strict-service/service.ts';
import {
  dayOutcomes,
  limit,
  newYork,
  openScenario,
  pageSize,
  reportOf,
  type Run,
  type Scenario,
  type Without,
} from './harness.ts';

const now = '2026-11-03T15:20:00Z';
const slow = 120_000;

const opened: { scenario: Scenario; refusals: RegExp | undefined }[] = [];

/** Whatever a scenario is about, nothing secret gets out, and the service refuses nothing but what it must. */
afterEach(async () => {
  const all = opened.splice(0);
  try {
    for (const { scenario, refusals } of all) {
      expect(scenario.service.refusals.filter((refusal) => !refusals?.test(refusal))).toEqual([]);
      expect(await scenario.leaks()).toEqual([]);
    }
  } finally {
    for (const { scenario } of all) await scenario.close();
  }
});

async function open(
  options: Partial<Parameters<typeof openScenario>[0]> = {},
  refusals?: RegExp,
): Promise<Scenario> {
  const scenario = await openScenario({ now, ...options });
  opened.push({ scenario, refusals });
  return scenario;
}

/** The exit code, beside what explains it. */
const codeOf = ({ code, stdout, stderr }: Run) => ({ code, why: code === 0 ? '' : stdout + stderr });
const complete = { code: 0, why: '' };

/** Runs until nothing is left to go on with. */
async function syncUntilDone(
  scenario: Scenario,
  args: string[],
  between: () => void = () => {},
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let left = 100; left > 0; left -= 1) {
    const run = await scenario.sync(args);
    runs.push(run);
    if (run.code !== 3) break;
    between();
  }
  return runs;
}

describe('I1: every day of every table holds exactly the records of the service', () => {
  it.each(readings)('under $name', async ({ reading }) => {
    const scenario = await open({ reading });
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it.each([
    {
      happening: 'a day of 25 hours',
      timeZone: 'Europe/London',
      startDate: '2026-10-23',
      now: '2026-10-27T15:20:00Z',
    },
    {
      happening: 'a day of 23 hours',
      timeZone: 'Europe/London',
      startDate: '2026-03-27',
      now: '2026-03-31T15:20:00Z',
    },
    {
      happening: 'a day without a midnight',
      timeZone: 'America/Santiago',
      startDate: '2026-09-04',
      now: '2026-09-08T15:20:00Z',
    },
    {
      happening: 'an hour before midnight that comes twice',
      timeZone: 'Asia/Beirut',
      startDate: '2026-10-22',
      now: '2026-10-26T15:20:00Z',
    },
    {
      happening: 'a zone ahead of UTC by 14 hours',
      timeZone: 'Pacific/Kiritimati',
      startDate: '2026-10-30',
      now: '2026-11-03T15:20:00Z',
    },
  ])('over $happening in $timeZone', async ({ timeZone, startDate, now }) => {
    const scenario = await open({ now, brands: [{ name: 'acme', timeZone, startDate }] });
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it('for two brands at once, one of them with filters', async () => {
    const filters = {
      clicks_list: { publisher_id: '12' },
      order_list: { status: 'new' },
      transaction_list: { sku_status: 'void' },
      amazon_attribution_report: { country_code: 'GB' },
    };
    const tokyo = { name: 'other-1', timeZone: 'Asia/Tokyo', startDate: '2026-10-31', filters };
    const scenario = await open({ brands: [newYork, tokyo] });
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it('run ten times', async () => {
    const scenario = await open();
    for (let run = 0; run < 10; run += 1) expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it('as time passes and records come late', async () => {
    const moments = [
      now,
      '2026-11-03T16:20:00Z',
      '2026-11-03T23:59:00Z',
      '2026-11-04T06:00:00Z',
      '2026-11-05T15:20:00Z',
    ];
    const scenario = await open({ until: moments.at(-1) ?? now });
    const [brand] = scenario.service.brands;
    const late = brand?.holdings.clicks.findLast(({ at }) => at < Date.parse(now));
    if (!late) throw new Error('no click could come late');
    Object.assign(late, { at: Date.parse(now) - 300_000, appearsAt: Date.parse(now) + 300_000 });
    late.record.created_time = httpDate(late.at);
    for (const moment of moments) {
      scenario.service.present = Date.parse(moment);
      expect(codeOf(await scenario.sync([], { now: moment }))).toEqual(complete);
      expect(await scenario.wrong()).toEqual([]);
    }
  });
});

describe('I4: whatever becomes of the process, a plain rerun ends with the same records', () => {
  it.each([
    { cursors: 'live on', between: () => {} },
    { cursors: 'die with each run', between: (scenario: Scenario) => scenario.service.forgetCursors() },
  ])(
    'with --max-seconds 1 until complete, where cursors $cursors',
    async ({ between }) => {
      const scenario = await open({}, /cursor is not known/);
      scenario.service.latencyMs = 40;
      const runs = await syncUntilDone(scenario, ['--max-seconds', '1'], () => between(scenario));
      expect(runs.map(({ code }) => code).slice(0, -1)).toContain(3);
      expect(codeOf(runs.at(-1) as Run)).toEqual(complete);
      expect(await scenario.wrong()).toEqual([]);
    },
    slow,
  );

  it.each([1, 25, 80, 140])('after SIGKILL when %d calls were answered', async (killAfterCalls) => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    expect((await scenario.sync([], { killAfterCalls })).code).toBeNull();
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it('killed again and again on its way', async () => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    for (const killAfterCalls of [10, 30, 50, 20]) await scenario.sync([], { killAfterCalls });
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });
});

describe('I5: runs beside each other', () => {
  it('both end, and leave what one would have left', async () => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    const both = await Promise.all([scenario.sync(), sleep(150).then(() => scenario.sync())]);
    for (const run of both) expect([0, 3, 4]).toContain(run.code);
    expect(codeOf(await scenario.sync())).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });
});

describe('faults that pass', () => {
  it(
    'are waited out within a run',
    async () => {
      const scenario = await open({ settings: { timeoutSeconds: 1 } });
      let calls = 0;
      scenario.service.fault = ({ repeats }) => {
        calls += 1;
        return repeats === 0 && calls % 20 === 0
          ? passingFaults[(calls / 20) % passingFaults.length]
          : undefined;
      };
      expect(codeOf(await scenario.sync())).toEqual(complete);
      expect(calls).toBeGreaterThan(100);
      expect(await scenario.wrong()).toEqual([]);
    },
    slow,
  );
});

/** The closed day on which a table has three pages. */
const brokenDays = {
  clicks: '2026-11-01',
  orders: '2026-10-31',
  transactions: '2026-10-30',
  attribution: '2026-11-02',
} as const;
type Broken = keyof typeof brokenDays;
const pagesOf: Record<Broken, number> = {
  clicks: pageSize,
  orders: pageSize,
  transactions: limit,
  attribution: limit,
};

const circles: readonly Fault[] = ['repeated cursor', 'cycling cursor'];

/** Breaks the second page of each table's day; a circle closes on the third. Numbered pages know no cursor. */
function breaking(fault: Fault, broken: readonly Broken[]): (call: Served) => Fault | undefined {
  return ({ action, day, offset }) => {
    const table = broken.find((name) => action === `report/${reportOf[name]}` && day === brokenDays[name]);
    const from =
      table === undefined ? Number.POSITIVE_INFINITY : pagesOf[table] * (fault === 'cycling cursor' ? 2 : 1);
    return offset >= from ? fault : undefined;
  };
}

function brokenBy(fault: Fault): Broken[] {
  // A cut body may be whole the next time: a run waits for that, so that one table must do.
  if (fault === 'truncated body') return ['transactions'];
  const all = Object.keys(brokenDays) as Broken[];
  return circles.includes(fault) ? all.filter((table) => table !== 'orders') : all;
}

describe('I8: a service that breaks its word in the middle of a day', () => {
  it.each(contractFaults)(
    '%s: the day fails, the others are published, and it heals',
    async (fault) => {
      const scenario = await open();
      const broken = brokenBy(fault);
      scenario.service.fault = breaking(fault, broken);
      const run = await scenario.sync();
      expect(codeOf(run)).toEqual({ code: 1, why: expect.anything() });
      const failed = [...dayOutcomes(run)].filter(([, outcome]) => outcome === 'failed').map(([day]) => day);
      expect(failed).toEqual(
        expect.arrayContaining(broken.map((table) => `${reportOf[table]} ${brokenDays[table]}`)),
      );
      const without: Without = Object.fromEntries(
        broken.map((table: Table) => [table, [brokenDays[table as Broken]]]),
      );
      const unread = { ...without, ...(without.clicks && { click_details: without.clicks }) };
      expect(await scenario.wrong(unread)).toEqual([]);
      expect(failed.every((day) => Object.values(brokenDays).some((dt) => day.endsWith(dt)))).toBe(true);

      scenario.service.fault = () => undefined;
      expect(codeOf(await scenario.sync())).toEqual(complete);
      expect(await scenario.wrong()).toEqual([]);
    },
    slow,
  );

  it.each(detailFaults)(
    '%s, where the details of one click are asked for: their day alone fails',
    async (fault) => {
      const scenario = await open();
      const [brand] = scenario.service.brands;
      const id = brand && scenario.service.held(brand, 'clicks').get(brokenDays.clicks)?.[33]?.id;
      const isBroken = ({ action, fields }: Served) =>
        action.endsWith('clicks_detail') && String(fields.id) === id;
      scenario.service.fault = (call) => (isBroken(call) ? fault : undefined);
      const run = await scenario.sync();
      expect(codeOf(run)).toEqual({ code: 1, why: expect.anything() });
      expect([...dayOutcomes(run)].filter(([, outcome]) => outcome === 'failed').map(([day]) => day)).toEqual(
        [`${reportOf.click_details} ${brokenDays.clicks}`],
      );
      expect(await scenario.wrong({ click_details: [brokenDays.clicks] })).toEqual([]);

      scenario.service.fault = () => undefined;
      expect(codeOf(await scenario.sync())).toEqual(complete);
      expect(await scenario.wrong()).toEqual([]);
    },
  );
});

describe('I2: a restated day', () => {
  /** Records go, come and change, twins among them. */
  function restate(scenario: Scenario): void {
    const [brand] = scenario.service.brands;
    if (!brand) return;
    const { transactions, orders, clicks } = brand.holdings;
    transactions.splice(transactions.findIndex(({ record }) => record.flags === true) + 4, 3);
    for (const { record } of orders.slice(-30))
      Object.assign(record, { status: 'void', amount: JSON.rawJSON('-1.50') });
    clicks.splice(
      clicks.findIndex(({ at }) => at >= Date.parse('2026-11-01T12:00:00Z')),
      2,
    );
  }
  const closedDays = ['--from', '2026-10-30', '--to', '2026-11-03'];

  it('is read again when it is asked for', async () => {
    const scenario = await open();
    expect(codeOf(await scenario.sync())).toEqual(complete);
    restate(scenario);
    expect((await scenario.wrong()).length).toBeGreaterThan(3);
    expect(codeOf(await scenario.sync(closedDays))).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });

  it('keeps its old version while it cannot be read', async () => {
    const scenario = await open();
    expect(codeOf(await scenario.sync())).toEqual(complete);
    scenario.service.fault = breaking('missing list', ['transactions']);
    const run = await scenario.sync(closedDays);
    expect(codeOf(run)).toEqual({ code: 1, why: expect.anything() });
    expect(dayOutcomes(run).get(`${reportOf.transactions} ${brokenDays.transactions}`)).toBe('failed');
    expect(await scenario.wrong()).toEqual([]);

    restate(scenario);
    scenario.service.fault = () => undefined;
    expect(codeOf(await scenario.sync(closedDays))).toEqual(complete);
    expect(await scenario.wrong()).toEqual([]);
  });
});

it('an empty lake is seen to differ from what the service holds', async () => {
  expect((await (await open()).wrong()).length).toBeGreaterThan(10);
});
