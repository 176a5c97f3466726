/**
 * The published detail of a click stays as long as the click does, whatever the service answers later, and whatever is
 * left of the raw records.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import type { Fault } from '../../sample/faults.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import { type Json, numberText } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { ledgerEntry, outcomesOf, publishedDays } from './lake-contents.ts';
import { type SampleLake, sampleLake, syncUntilComplete } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-09';
const CLICKS = 120;
const both = { reports: ['clicks_list', 'clicks_detail'] };
const byName = { ...both, from: DAY, to: DAY };
const REFUSED: Fault = { kind: 'code', code: 17, msg: 'too old' };

const sample = sharedLakes({
  now: '2026-03-10T05:30:00Z',
  recordsTo: '2026-03-10T03:59:00Z',
  startDate: DAY,
  clicksPerDay: CLICKS,
});

const faults: (() => void)[] = [];
afterEach(() => {
  for (const stop of faults.splice(0)) stop();
});

/** The clicks of the day and their details are published. */
async function publishedLake(): Promise<SampleLake> {
  const lake = sample.emptyLake();
  await lake.sync({ scope: both });
  expect(await committed(lake)).toMatchObject({ rows: idsOf(lake).length, state: 'closed' });
  return lake;
}

async function committed(lake: SampleLake) {
  return (await ledgerEntry(lake, 'clicks_detail', DAY)).committed;
}

/** The digest of the day's published details, read from their snapshot. */
const digestOf = async (lake: SampleLake) => (await publishedDays(lake, 'clicks_detail')).get(DAY);

const idsOf = (lake: SampleLake) => recordsOfDay(lake.brand, 'clicks_list', DAY).map(({ id }) => String(id));
const digits = (value: Json | undefined) => numberText(value) ?? String(value);

/** Makes the service refuse the details of these clicks. @returns a function that ends it */
function refuse(lake: SampleLake, ids: readonly string[]): () => void {
  const refused = new Set(ids);
  const when = ({ fields }: { fields: Record<string, Json> }) => refused.has(digits(fields.id));
  const stop = lake.service.addFault({ on: { action: 'report/clicks_detail', when }, fault: REFUSED });
  faults.push(stop);
  return stop;
}

/** Makes the service forget the details of these clicks: it then returns an empty answer for them. */
function forget(lake: SampleLake, ids: readonly string[]): void {
  const forgotten = new Set(ids);
  restate(lake.brand, 'clicks_detail', DAY, (held) =>
    held.filter(({ record }) => !forgotten.has(String(record.id))),
  );
}

describe('I1: the published detail of a click that is still there', () => {
  it('I4: stays as often as before if clicks have several details and runs have no time', async () => {
    const lists = await sampleLake({
      now: '2026-03-10T05:30:00Z',
      recordsTo: '2026-03-10T03:59:00Z',
      startDate: DAY,
      clicksPerDay: CLICKS,
      interpretations: { detail: 'list' },
    });
    const { records } = lists.brand;
    records.clicks_detail = records.clicks_detail.flatMap(({ at, record }) =>
      [0, 0, 1].map((part) => ({ at, record: { ...record, part } })),
    );
    await lists.sync({ scope: both });
    const ids = idsOf(lists);
    expect((await committed(lists))?.rows).toBe(3 * ids.length);
    const before = await digestOf(lists);
    refuse(lists, ids.slice(0, 20));
    forget(lists, ids.slice(20));
    lists.nowMs += HOUR_MS;
    const options = { scope: { ...byName, reports: ['clicks_detail'] }, maxRuns: 20 };
    expect(await syncUntilComplete(lists, options)).toBeGreaterThan(5);
    expect(await digestOf(lists)).toBe(before);
    await lists.close();
  });
});

describe('the published detail of a click', () => {
  it('stops no reading if it is unreadable, and is reported as lost', async () => {
    const lake = await publishedLake();
    const { snapshot = '' } = (await committed(lake)) ?? {};
    const key = [...lake.store.objects.keys()].find((name) => name.includes(snapshot)) ?? '';
    lake.store.objects.delete(key);
    const ids = idsOf(lake);
    refuse(lake, ids.slice(0, 5));
    lake.nowMs += HOUR_MS;
    const log: LogEvent[] = [];
    const outcome = await lake.sync({ scope: byName, log: (event) => void log.push(event) });
    expect(outcomesOf(outcome, 'clicks_detail')).toEqual({ [DAY]: 'published' });
    expect((await committed(lake))?.rows).toBe(ids.length - 5);
    expect(log.filter(({ event }) => event === 'committed_details_unreadable')).toMatchObject([
      { day: DAY, message: expect.stringContaining(key) },
    ]);
  });
});
