/**
 * A brand whose fields have other names corrects `fields`, `kinds` and `states.words` on a lake with two months of
 * history, closes and voids. Every view is then as if the lake had had these settings from the first day.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { addMonths, daysOfMonth, monthOf, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const ZONE = 'America/New_York';
const RIGHT = {
  fields: {
    ...{ amount: 'saleAmt', commission: ['comm', 'commNew'], currency: 'curr', state: 'st' },
    ...{ publisher_id: 'publisher.id', publisher_name: 'publisher.name', order_id: 'orderNo' },
  },
  kinds: ['placement_bonus'],
  states: { words: { open: 'new', ok: 'effective', released: 'locked', settled: 'paid', gone: 'void' } },
};
const WRONG = { fields: { ...RIGHT.fields, commission: 'taxAmt', state: 'country' } };
const WORDS = ['open', 'ok', 'released', 'settled', 'gone'];

let sample: SampleBrandForCli;
let months: string[];

function orderOf(day: string, index: number): JsonObject {
  const number = index + Number(day.slice(8));
  return {
    ...{ orderNo: `${day}-${index}`, saleAmt: 20 + number, taxAmt: 1.5, comm: (number / 7).toFixed(2) },
    ...{ curr: number % 5 === 0 ? 'EUR' : 'USD', country: 'US', st: WORDS[number % 5] ?? null },
    ...{ kind: number % 6 === 0 ? 'placement_bonus' : 'sale' },
    publisher: { id: 10 + (number % 3), name: `P${number % 3}` },
  };
}

beforeAll(async () => {
  sample = await serveSampleBrand();
  const first = addMonths(monthOf(sample.today), -2);
  months = [first, addMonths(first, 1)];
  for (const name of ['order_list', 'transaction_list'] as const)
    sample.acme.records[name] = months.flatMap(daysOfMonth).flatMap((day) =>
      [0, 1, 2, 3].map((index) => ({
        at: startOfDay(day, ZONE) + 3_600_000 * (index + 1),
        record: orderOf(day, index),
      })),
    );
});
afterAll(() => sample.close());

/** Changes, removes and adds records of both months, differently in each round. */
function change(round: number): void {
  for (const name of ['order_list', 'transaction_list'] as const)
    for (const [at, day] of months.flatMap(daysOfMonth).entries())
      if ((at + round) % 3 === 0)
        restate(sample.acme, name, day, (held) =>
          held.flatMap(({ at: ms, record }, index) => {
            if (index === 3 && (at + round) % 9 === 0) return [];
            const { comm = null, ...renamed } = record;
            const changed = index === round ? { ...renamed, commNew: comm } : record;
            const st = WORDS[(index + round + at) % 5] ?? null;
            return [{ at: ms, record: index === 2 ? record : { ...changed, st } }];
          }),
        );
}

interface Lake {
  cwd: string;
  settings: (of: object) => void;
  run: (...args: string[]) => Promise<string>;
}

function lakeOf(name: string): Lake {
  const cwd = join(sample.folder, name);
  mkdirSync(cwd);
  const [, , , credentials = ''] = sample.flags;
  const settings = (of: object) => {
    const both = { order_list: { key: 'orderNo', ...of }, transaction_list: { key: 'orderNo', ...of } };
    const others = Object.keys(reports).filter((report) => !Object.hasOwn(both, report));
    const brand = {
      baseUrl: sample.acme.baseUrl,
      service: sample.service.serviceName,
      timeZone: ZONE,
      lateMinutes: 0,
      startDate: `${months[0]}-01`,
      secretName: 'brand-reports/acme',
      reports: { ...both, ...Object.fromEntries(others.map((each) => [each, { enabled: false }])) },
    };
    writeFileSync(
      join(cwd, 'settings.json'),
      JSON.stringify({ brands: { acme: brand }, requestsPerSecond: 1000 }),
    );
  };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli([...args, '--settings', 'settings.json'], { cwd });
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  const withCredentials = (...args: string[]) =>
    run(...args, ...(args[0] === 'sync' ? ['--credentials', credentials] : []));
  return { cwd, settings, run: withCredentials };
}

/** All views of records but those of clicks. */
const VIEWS = Object.values(reports)
  .flatMap((report) => report.views)
  .filter(({ name, tables }) => !tables.includes('clicks') && name !== 'click_channels');

/** The rows of all views, without what differs between any two lakes: instants and ids of versions. */
async function rowsOf({ run }: Lake): Promise<Record<string, string[]>> {
  const rows = VIEWS.map(({ name, columns }) => {
    const compared = columns.filter(
      ([column, type]) => type !== 'timestamp' && !/version|previous/.test(column),
    );
    const cells = compared.map(([column]) => `${column} := "${column}"`).join(', ');
    return `SELECT '${name}' AS view, CAST(to_json(struct_pack(${cells})) AS varchar) AS row FROM ${name}`;
  });
  const found: { view: string; row: string }[] = JSON.parse(
    await run('query', '--json', `${rows.join(' UNION ALL ')} ORDER BY ALL`),
  );
  const byView = Map.groupBy(found, ({ view }) => view);
  return Object.fromEntries([...byView].map(([view, own]) => [view, own.map(({ row }) => row)]));
}

describe('corrected fields, kinds and words', () => {
  it('I13: make every view what it would be if they had been there from the first day', async () => {
    const [late, early] = [lakeOf('late'), lakeOf('early')];
    late.settings(WRONG);
    early.settings(RIGHT);
    const all = ['--from', `${months[0]}-01`, '--to', daysOfMonth(months[1] ?? '').at(-1) ?? ''];
    const both = (...args: string[]) => Promise.all([late.run(...args), early.run(...args)]);
    await both('sync', ...all);
    await both('close', months[0] ?? '', '--anyway');
    change(0);
    await both('sync', ...all);
    await both('close', months[1] ?? '', '--anyway');
    change(1);
    await both('sync', ...all);
    const wrong = await rowsOf(late);
    late.settings(RIGHT);
    const [followed, right] = [await rowsOf(late), await rowsOf(early)];
    for (const { name } of VIEWS) expect([name, followed[name]]).toEqual([name, right[name]]);
    for (const name of ['payouts', 'order_states', 'since_close'])
      expect([name, wrong[name]]).not.toEqual([name, right[name]]);
  }, 300_000);
});
