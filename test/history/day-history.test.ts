import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { dayOf, HOUR } from './day.ts';

const COLUMNS: readonly Column[] = [
  { name: 'transid', type: 'string', field: 'transid' },
  { name: 'order_id', type: 'string', field: 'order_id' },
  { name: 'sku', type: 'string', field: 'sku' },
  { name: 'share', type: 'double', field: 'share' },
  { name: 'note', type: 'string', field: 'note' },
  { name: 'amount', type: 'decimal(38,9)', field: 'amount' },
];

/** @param noteOf by index; `undefined` leaves the record out */
function* records(count: number, noteOf: (index: number) => string | undefined): Generator<Row> {
  for (let index = 0; index < count; index += 1) {
    const note = noteOf(index);
    if (note !== undefined) yield { transid: `t${index}`, note, amount: BigInt(index) };
  }
}

const shown = (rows: readonly Row[]) =>
  rows.map(({ _key, _what, _place, note }) => [_key, _what, Number(_place), note ?? null].join(' ')).sort();

describe('the object with what the records of a day were before', () => {
  it('has whole row groups and single rows of all changes', async () => {
    const day = await dayOf(COLUMNS);
    const count = 3_500;
    await day.replaceBy({ rows: records(count, () => 'a') });
    await day.replaceBy({ rows: records(count, (index) => (index % 2 === 0 ? 'b' : 'a')) });
    await day.replaceBy({
      rows: records(count + 1_200, (index) => (index === 7 ? undefined : index % 2 === 0 ? 'b' : 'a')),
    });
    await day.replaceBy({ rows: records(count + 1_200, () => 'c') });
    const rows = await day.before();
    const of = (place: number) => rows.filter(({ _place }) => Number(_place) === place);
    const even = Array.from({ length: count / 2 }, (_, index) => `t${2 * index} altered 1 a`);
    expect(shown(of(1))).toEqual(even.sort());
    expect(of(2).filter(({ _what }) => _what === 'removed')).toMatchObject([
      { _key: 't7', note: 'a', amount: 7n },
    ]);
    const added = of(2).filter(({ _what }) => _what === 'added');
    expect(added).toHaveLength(1_200);
    for (const { _key, note, amount } of added) {
      expect(String(_key)).toMatch(/^t\d+$/);
      expect([note, amount]).toEqual([undefined, undefined]);
    }
    expect(of(3)).toHaveLength(count - 1 + 1_200 + 1);
    expect(day.committed?.history).toMatchObject({
      ...{ place: 3, object: { rows: rows.length } },
      last: { rowsBefore: count - 1 + 1_200, added: 1, removed: 0, altered: count - 1 + 1_200 },
    });
  });

  it('is dropped when it would take more than eight times the bytes of the day, and places go on', async () => {
    const day = await dayOf(COLUMNS);
    const random = (seed: number) => (index: number) =>
      Array.from({ length: 12 }, (_, at) =>
        Math.sin(seed * 9_999 + index * 37 + at)
          .toString(36)
          .slice(4),
      ).join('');
    const places: number[] = [];
    for (let version = 0; version < 14; version += 1) {
      await day.replaceBy({ rows: records(1_500, random(version)) });
      const { place = 0, anewPlace, object } = day.committed?.history ?? {};
      expect(place).toBe(version);
      if (anewPlace === place) places.push(place);
      else if (version > 0)
        expect(object?.bytes).toBeLessThanOrEqual(Math.max(2 ** 20, 8 * (day.committed?.bytes ?? 0)));
    }
    expect(places).toHaveLength(1);
    const { history } = day.committed ?? {};
    expect(history).toMatchObject({ anewWhy: expect.stringContaining('eight times') });
    const left = new Set((await day.before()).map(({ _place }) => Number(_place)));
    expect(Math.min(...left)).toBe((history?.anewPlace ?? 0) + 1);
    expect(day.events.filter(({ event }) => event === 'history_anew')).toHaveLength(1);
  });

  it('has times that enclose each change and that grow, even if a clock is behind', async () => {
    const day = await dayOf(COLUMNS);
    await day.replaceBy({ rows: records(1, () => 'a') });
    const first = day.committed;
    day.nowMs -= 5 * HOUR;
    await day.replaceBy({ rows: records(1, () => 'b') });
    await day.replaceBy({ rows: records(1, () => 'c') });
    const times = (await day.before()).map(({ _by }) => (_by instanceof Date ? _by.getTime() : 0));
    const begun = Date.parse(first?.history?.by ?? '');
    expect(times).toEqual([begun + 1, begun + 2]);
  });
});

describe('the key of a day', () => {
  it.each<[string, string | undefined, readonly Row[], string | string[] | undefined]>([
    ['the setting', 'note', [{ transid: 'a', note: 'x' }], 'note'],
    ['the primary key without a setting', 'transid', [{ transid: 'a' }], undefined],
    [
      'another one that is unique, if the setting is not',
      'order_id,sku',
      [
        { note: 'x', order_id: '1', sku: 'a' },
        { note: 'x', order_id: '1', sku: 'b' },
      ],
      'note',
    ],
    ['the setting if no key is unique', 'note', [{ note: 'x' }, { note: 'x' }], 'note'],
    [
      'the order and its product if nothing is unique',
      'order_id,sku',
      [{ order_id: '1' }, { order_id: '1' }],
      undefined,
    ],
    ['none if no record has one', '', [{ amount: 1n }], undefined],
    ['never a floating point number', '', [{ share: 0.5 }], 'share'],
    ['not known as long as the day is empty', undefined, [], undefined],
  ])('is %s', async (_name, key, rows, setting) => {
    const day = await dayOf(COLUMNS);
    const settings = { ...(setting !== undefined && { key: setting }), fields: { order_id: 'order_id' } };
    await day.replaceBy({ rows, settings });
    expect(day.committed?.history?.key).toBe(key);
  });

  it('stays for the chain, and the schema has each key that was used', async () => {
    const day = await dayOf(COLUMNS);
    await day.replaceBy({ rows: [{ transid: 'a', order_id: 'o' }] });
    await day.replaceBy({
      rows: [{ transid: 'b', order_id: 'o' }],
      settings: { key: 'order_id', fields: {} },
    });
    expect(day.committed?.history?.key).toBe('transid');
    expect(shown(await day.before())).toEqual(['a removed 1 ', 'b added 1 ']);
    expect((await day.schema.cached()).keys).toEqual(['transid']);
  });
});

describe('a day', () => {
  it('has no history while it is open, and begins it with the reading that closes it', async () => {
    const day = await dayOf(COLUMNS);
    await day.replaceBy({ rows: records(1, () => 'a'), state: 'open' });
    expect(day.committed?.history).toBeUndefined();
    await day.replaceBy({ rows: records(2, () => 'a') });
    const { committed } = day;
    expect(committed?.history).toEqual({
      ...{ after: committed?.readFrom, by: new Date(day.nowMs + 600_000).toISOString() },
      ...{ timeZone: 'America/New_York', key: 'transid', place: 0 },
    });
  });

  it('goes on counting after an erasure', async () => {
    const day = await dayOf(COLUMNS);
    day.entry = { lastPlace: 4, lastBy: '2026-03-11T00:00:00.000Z' };
    await day.replaceBy({ rows: records(1, () => 'a') });
    const by = '2026-03-11T00:00:00.001Z';
    expect(day.committed?.history).toMatchObject({ by, place: 5, anewPlace: 5, anewBy: by });
    await day.replaceBy({ rows: records(1, () => 'b') });
    expect(day.committed?.history).toMatchObject({ place: 6, anewPlace: 5 });
  });
});
