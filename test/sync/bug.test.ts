import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { type Around, type Operation, catalogAround, storeAround } from '../fakes/lake-around.ts';
import { CREDENTIALS, type SampleLake, ZONE, blindRegistry, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-02';
const scope = { reports: ['order_list', 'transaction_list'] };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({ now: '2026-03-03T17:00:00Z', startDate: '2026-03-01' });
});
afterAll(() => sample.close());

/** A run of two brands of one service, in a lake whose chosen operations throw an error that only a bug throws. */
async function run(isBug: (operation: Operation) => boolean) {
  const lake = sample.emptyLake();
  const { baseUrl } = sample.brand;
  const brand = {
    ...{ baseUrl, service: sample.service.serviceName, timeZone: ZONE },
    ...{ startDate: '2026-03-01', secretName: 'none' },
  };
  const log: LogEvent[] = [];
  const around: Around = async (operation, act) => {
    if (isBug(operation)) throw new TypeError(`cannot read properties of undefined (${operation.name})`);
    return act();
  };
  const outcome = await lake.sync({
    scope,
    commonSettings: { brands: { acme: brand, other: brand } },
    lake: lake.over(storeAround(lake.store, around), catalogAround(lake.catalog, around)),
    log: (event) => log.push(event),
    mayHaveBugs: true,
  });
  const ended = outcome.reports.map(({ brand, report, status, error }) => ({
    ...{ is: `${brand} ${report} ${status}` },
    ...(error && { kind: error.kind }),
  }));
  return { lake, outcome, log, ended };
}

const isChunk = ({ name, on }: Operation) =>
  name === 'put' && on.includes(`raw/order_list/brand=acme/dt=${DAY}/`) && !on.endsWith('progress.json');

describe('a bug in one report', () => {
  it.each<[string, (operation: Operation) => boolean]>([
    ['plans', ({ name, on }) => name === 'get' && on === 'ledger/order_list/acme/2026-03.json'],
    ['brings the table up to date', ({ name, on }) => name === 'ensureTable' && on === 'orders'],
    ['stages a page', isChunk],
    ['writes a version', ({ on }) => on.includes(`snapshots/orders/brand=acme/dt=${DAY}/`)],
    ['publishes', ({ name, on }) => name === 'setSnapshot' && on === 'orders'],
    ['removes what nothing references', ({ name, on }) => name === 'list' && on.includes('order_list')],
  ])('ends only that report, with its name, in the step that %s', async (_name, isBug) => {
    const { outcome, ended, log } = await run(isBug);
    expect(outcome.status).toBe('failed');
    const others = ended.filter(({ kind }) => kind !== 'bug');
    expect(others.map(({ is }) => is)).toEqual(
      expect.arrayContaining(['acme transaction_list complete', 'other transaction_list complete']),
    );
    expect(ended).toContainEqual({ is: 'acme order_list failed', kind: 'bug' });
    expect(outcome.reports).toHaveLength(4);
    const stacks = log.flatMap((event) => ('stack' in event ? [event.stack] : []));
    expect(stacks.join('\n')).toMatch(/^ {4}at .*bug\.test\.ts/m);
  });

  it('is recorded with its day, which the next run reads', async () => {
    const { lake, outcome } = await run(isChunk);
    const { days = [], error } = outcome.reports.find(({ brand }) => brand === 'acme') ?? {};
    expect(error).toEqual({
      kind: 'bug',
      code: 'unexpected',
      message: 'TypeError: cannot read properties of undefined (put)',
    });
    expect(days.find(({ dt }) => dt === DAY)?.outcome).toBe('failed');
    const ledger = await lake.store.get('ledger/order_list/acme/2026-03.json');
    expect(JSON.parse(Buffer.from(ledger?.body ?? []).toString())).toMatchObject({
      days: { [DAY]: { failure: { kind: 'bug', times: 1 } } },
    });
    // The next run without the bug works as if nothing had happened.
    lake.nowMs += 3_600_000;
    expect(await lake.sync({ scope })).toMatchObject({ status: 'complete' });
  });

  it('I9: shows no credential, even if its message contains one', async () => {
    const lake = sample.emptyLake();
    const log: LogEvent[] = [];
    const { store, runs } = { store: lake.store, runs: blindRegistry };
    const outcome = await lake.sync({
      scope,
      lake: {
        runs,
        store: {
          ...store,
          put: async (key, body, precondition) => {
            if (isChunk({ name: 'put', on: key })) throw new Error(`no ${CREDENTIALS.secret}`);
            return store.put(key, body, precondition);
          },
        },
      },
      log: (event) => log.push(event),
      mayHaveBugs: true,
    });
    expect(outcome.reports[0]?.error?.message).toBe('Error: no [redacted]');
    expect(JSON.stringify(log)).not.toContain(CREDENTIALS.secret);
  });
});
