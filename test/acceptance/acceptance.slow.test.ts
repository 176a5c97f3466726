import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { httpDate } from '../strict-service/data.ts';
import { interpretations } from '../strict-service/interpretations.ts';
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
} from './harness.ts';

const now = '2026-11-03T15:20:00Z';
const opened: { scenario: Scenario; refusals: RegExp | undefined }[] = [];

/**
 * Checks after every scenario that no secret was printed or stored, and that the service refused nothing unexpected.
 */
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

function expectCode(run: Run | undefined, code: number): void {
  expect({ code: run?.code, why: run?.code === code ? '' : run && run.stdout + run.stderr }).toEqual({
    code,
    why: '',
  });
}

/** One more plain run ends well, and makes the lake equal to the service. */
async function expectToComplete(scenario: Scenario, ...sync: Parameters<Scenario['sync']>): Promise<void> {
  expectCode(await scenario.sync(...sync), 0);
  expect(await scenario.wrong()).toEqual([]);
}

function failedDays(run: Run): string[] {
  return [...dayOutcomes(run)].flatMap(([day, outcome]) => (outcome === 'failed' ? [day] : [])).sort();
}

it('an empty lake is found to differ from the service', async () => {
  expect((await (await open()).wrong()).length).toBeGreaterThan(10);
});

describe('I1: every day of every table has exactly the records of the service', () => {
  // ALL_INTERPRETATIONS=1 runs all of them; `npm run torture` picks one for each history.
  const every = process.env.ALL_INTERPRETATIONS ? 1 : 3;
  it.each(interpretations.filter((_, index) => index % every === 0))(
    'under $name',
    async ({ interpretation }) => {
      await expectToComplete(await open({ interpretation }));
    },
  );

  it.each([
    ['a day of 23 hours', 'Europe/London', '2026-03-27', '2026-03-31T15:20:00Z'],
    ['a day without a midnight', 'America/Santiago', '2026-09-04', '2026-09-08T15:20:00Z'],
    ['a last hour that comes twice', 'Asia/Beirut', '2026-10-22', '2026-10-26T15:20:00Z'],
  ])('over %s in %s', async (_happening, timeZone, startDate, now) => {
    await expectToComplete(await open({ now, brands: [{ name: 'acme', timeZone, startDate }] }));
  });

  it('for two brands at once, one of them with filters', async () => {
    const filters = {
      clicks_list: { publisher_id: '12' },
      order_list: { status: 'new' },
      transaction_list: { sku_status: 'void' },
      amazon_attribution_report: { country_code: 'GB' },
    };
    const other = { name: 'other-1', timeZone: 'Asia/Tokyo', startDate: '2026-10-31', filters };
    await expectToComplete(await open({ brands: [newYork, other] }));
  });

  it('as time passes and records come late', async () => {
    const later = [
      '2026-11-03T16:20:00Z',
      '2026-11-03T23:59:00Z',
      '2026-11-04T06:00:00Z',
      '2026-11-05T15:20:00Z',
    ];
    const scenario = await open({ until: later.at(-1) ?? now });
    const late = scenario.service.brands[0]?.holdings.clicks.findLast(({ at }) => at < Date.parse(now));
    if (!late) throw new Error('no click could come late');
    late.at = Date.parse(now) - 300_000;
    late.appearsAt = Date.parse(now) + 300_000;
    late.record.created_time = httpDate(late.at);
    for (const moment of [now, ...later]) {
      scenario.service.present = Date.parse(moment);
      await expectToComplete(scenario, [], { now: moment });
    }
  });
});

describe('I2: a restated day', () => {
  const allDays = ['--from', '2026-10-30', '--to', '2026-11-03'];

  /** Records disappear and change, some of the duplicates among them. */
  function restate({ service }: Scenario): void {
    const { transactions = [], orders = [], clicks = [] } = service.brands[0]?.holdings ?? {};
    const since = (time: string) => (one: { at: number }) => one.at >= Date.parse(time);
    transactions.splice(transactions.findIndex(since('2026-10-30T04:00:00Z')), 3);
    clicks.splice(clicks.findIndex(since('2026-11-01T17:00:00Z')), 2);
    for (const { record } of orders.slice(-30))
      Object.assign(record, { status: 'void', amount: JSON.rawJSON('-1.50') });
  }

  it('is read again with --from and --to', async () => {
    const scenario = await open();
    await expectToComplete(scenario);
    restate(scenario);
    expect((await scenario.wrong()).length).toBeGreaterThan(3);
    await expectToComplete(scenario, allDays);
  });

  it('keeps its old version while it cannot be read', async () => {
    const scenario = await open();
    await expectToComplete(scenario);
    restate(scenario);
    scenario.service.fault = breaking('missing list', ['transactions']);
    const run = await scenario.sync(allDays);
    expectCode(run, 1);
    expect(failedDays(run)).toEqual([`${reportOf.transactions} ${longDays.transactions}`]);
    const oldDay = { table: 'transactions', brand: newYork.name, dt: longDays.transactions };
    expect(await scenario.wrong()).toEqual([
      { ...oldDay, missing: [], surplus: [expect.stringMatching(/^3 × /)] },
    ]);

    scenario.service.fault = () => undefined;
    await expectToComplete(scenario, allDays);
  });
});

describe('I4: however the process ends, a plain rerun ends with the same records', () => {
  it.each([
    { cursors: 'live on', between: () => {} },
    { cursors: 'die with each run', between: ({ service }: Scenario) => service.forgetCursors() },
  ])('with --max-seconds 1 until complete, if cursors $cursors', async ({ between }) => {
    const scenario = await open({}, /cursor is not known/);
    scenario.service.latencyMs = 40;
    let incomplete = 0;
    let run = await scenario.sync(['--max-seconds', '1']);
    for (; run.code === 3 && incomplete < 100; incomplete += 1) {
      between(scenario);
      run = await scenario.sync(['--max-seconds', '1']);
    }
    expectCode(run, 0);
    expect(incomplete).toBeGreaterThan(0);
    expect(await scenario.wrong()).toEqual([]);
  });

  it.each([25, 140])('after SIGKILL after %d calls', async (killAfterCalls) => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    expect((await scenario.sync([], { killAfterCalls })).code).toBeNull();
    await expectToComplete(scenario);
  });

  it('after repeated SIGKILL', async () => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    for (const killAfterCalls of [10, 30, 50, 20]) await scenario.sync([], { killAfterCalls });
    await expectToComplete(scenario);
  });
});

describe('I5: two runs at once', () => {
  it('leave the same lake as one run', async () => {
    const scenario = await open();
    scenario.service.latencyMs = 5;
    const both = await Promise.all([scenario.sync(), sleep(150).then(() => scenario.sync())]);
    for (const run of both) expect([0, 3, 4]).toContain(run.code);
    await expectToComplete(scenario);
  });
});

/** The closed day on which a table has three pages, and the size of a page. */
const longDays = {
  clicks: '2026-11-01',
  orders: '2026-10-31',
  transactions: '2026-10-30',
  attribution: '2026-11-02',
};
type Paged = keyof typeof longDays;
const fullPage = { clicks: pageSize, orders: pageSize, transactions: limit, attribution: limit };

/** Breaks the pages after the first page of each table's long day; a circle closes after the second page. */
function breaking(fault: Fault, tables: readonly Paged[]): (call: Served) => Fault | undefined {
  const pages = fault === 'cycling cursor' ? 2 : 1;
  return ({ action, day, offset }) =>
    tables.some(
      (table) =>
        action === `report/${reportOf[table]}` &&
        day === longDays[table] &&
        offset >= pages * fullPage[table],
    )
      ? fault
      : undefined;
}

function tablesFor(fault: Fault): Paged[] {
  // A body that was cut may be whole the next time, so runs wait for it: one table suffices.
  if (fault === 'truncated body') return ['transactions'];
  const cursors: Paged[] = ['clicks', 'transactions', 'attribution'];
  return fault.endsWith('cursor') ? cursors : [...cursors, 'orders'];
}

describe('I8: if the service breaks its contract in the middle of a day', () => {
  it.each(contractFaults)('(%s), that day fails, the others are published, and it heals', async (fault) => {
    const scenario = await open();
    const tables = tablesFor(fault);
    scenario.service.fault = breaking(fault, tables);
    const run = await scenario.sync();
    expectCode(run, 1);
    const broken = Object.fromEntries(tables.map((table) => [table, [longDays[table]]]));
    const detailsToo = broken.clicks ? { click_details: broken.clicks } : {};
    expect(await scenario.wrong({ ...broken, ...detailsToo })).toEqual([]);
    expect(failedDays(run).filter((day) => !day.startsWith(reportOf.click_details))).toEqual(
      tables.map((table) => `${reportOf[table]} ${longDays[table]}`).sort(),
    );

    scenario.service.fault = () => undefined;
    await expectToComplete(scenario);
  });

  it.each(detailFaults)(
    '(%s, of one click), only its detail is missing until it is requested again',
    async (fault) => {
      const scenario = await open();
      const { service } = scenario;
      const [id] = (service.brands[0]?.holdings.clicks ?? [])
        .filter(({ at }) => at >= Date.parse('2026-11-01T17:00:00Z'))
        .map(({ record }) => record.id);
      service.fault = ({ action, fields }) =>
        action === `report/${reportOf.click_details}` && String(fields.id) === id ? fault : undefined;
      const run = await scenario.sync();
      expectCode(run, 0);
      expect(run.stdout).toContain('"refusedLookups":1');
      const missing = {
        table: 'click_details',
        dt: longDays.clicks,
        surplus: [],
        missing: [expect.anything()],
      };
      expect(await scenario.wrong()).toMatchObject([missing]);

      service.fault = () => undefined;
      expectCode(await scenario.sync(['--from', longDays.clicks, '--to', longDays.clicks]), 0);
      expect(await scenario.wrong()).toEqual([]);
    },
  );
});

describe('I9: credentials stay where they are', () => {
  it('even if the service repeats them in its messages', async () => {
    const scenario = await open();
    scenario.service.fault = () => 'echo of the credentials';
    const run = await scenario.sync();
    expectCode(run, 1);
    expect(run.stdout).toContain('echo of');
    expect(await scenario.leaks()).toEqual([]);
  });
});

describe('temporary faults', () => {
  it('are waited out within a run', async () => {
    const scenario = await open({ settings: { timeoutSeconds: 3 } });
    let calls = 0;
    scenario.service.fault = ({ repeats }) => {
      calls += 1;
      return repeats === 0 && calls % 20 === 0
        ? passingFaults[(calls / 20) % passingFaults.length]
        : undefined;
    };
    await expectToComplete(scenario);
    expect(calls).toBeGreaterThan(100);
  });
});
