import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { type Json, type JsonObject, parseJson, rawNumber } from '../../shared/base/json.ts';
import { wrongReports } from '../sync/lake-contents.ts';
import { REPORTS, type SampleLake, sampleLake } from '../sync/sample-lake.ts';

const TODAY = '2026-03-10';
const DAY = '2026-03-09';

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({ now: `${TODAY}T15:00:00Z`, startDate: '2026-03-08', clicksPerDay: 8 });
  await sample.sync();
}, 120_000);
afterAll(() => sample.close());

const nested = (depth: number): Json => parseJson(`${'['.repeat(depth)}${']'.repeat(depth)}`);

const values: [string, Json][] = [
  ['null', null],
  ['an empty text', ''],
  ['a text of 256 KiB', 'x'.repeat(2 ** 18)],
  ['a text with a NUL, a line end and half a character', 'a\u0000b\nc\ud800'],
  ['a number of 400 digits', rawNumber('9'.repeat(400))],
  ['1e400', rawNumber('1e400')],
  ['-0.0', rawNumber('-0.0')],
  ['a number beyond 64 bits', rawNumber('9223372036854775808')],
  ['true', true],
  ['a list', [1, 'two', null]],
  ['an object', { 'a.b': { c: [{}] } }],
  ['lists nested 500 deep', nested(500)],
];

/** The record with the value in every other field and in a new field; the fields of its day and key stay. */
function odd(record: JsonObject, value: Json): JsonObject {
  const kept = new Set(['id', 'created_time', 'transid', 'date', 'pbtid']);
  const fields = Object.entries(record).map(([name, before], index): [string, Json] => [
    name,
    kept.has(name) || index % 2 === 0 ? before : value,
  ]);
  return Object.fromEntries([...fields, ['never seen before', value], ['constructor', value]]);
}

describe('a service with any values in its records', () => {
  it.each(values)('I6: is copied exactly: %s', async (_name, value) => {
    const lake = sample.fork();
    for (const report of REPORTS)
      restate(lake.brand, report, DAY, (held) =>
        held.map((one, index) => (index % 2 === 0 ? { ...one, record: odd(one.record, value) } : one)),
      );
    expect(await lake.sync({ scope: { from: DAY, to: DAY } })).toMatchObject({ status: 'complete' });
    expect(await wrongReports(lake, TODAY)).toEqual({});
  });
});
