import { describe, expect, it } from '@jest/globals';
import type { Readings } from '../../sample/readings.ts';
import { type JsonObject, rawNumber } from '../../shared/json.ts';
import { call, startAcme } from './call.ts';

const id = '9007199254740993';
const detail: JsonObject = { id, pbtid: '77', device: { os: 'iOS' } };
const records = {
  clicks_detail: [
    { at: 0, record: { ...detail, id: '9007199254740992', pbtid: '78' } },
    { at: 0, record: detail },
  ],
};
const withoutId = { pbtid: '77', device: { os: 'iOS' } };

async function ask(readings: Partial<Readings>, fields: JsonObject): Promise<JsonObject> {
  const service = await startAcme({ readings }, records);
  const { data } = await call(service, 'report/clicks_detail', fields);
  return data;
}

describe('a click’s detail', () => {
  it.each<[string, Partial<Readings>, JsonObject, JsonObject]>([
    ['is found by an id beyond 2^53', {}, { id: rawNumber(id) }, detail],
    ['is found by pbtid', {}, { pbtid: 77 }, detail],
    ['is found by both', {}, { id: rawNumber(id), pbtid: 77 }, detail],
    ['is not found where they are of two clicks', {}, { id: rawNumber(id), pbtid: 78 }, {}],
    ['is nothing for an unknown id', {}, { id: 5 }, {}],
    ['is an empty list for an unknown id', { detail: 'list' }, { id: 5 }, { list: [] }],
    ['is a list', { detail: 'list' }, { pbtid: 77 }, { list: [detail] }],
    ['has a name', { detail: 'named' }, { pbtid: 77 }, { click: detail }],
    ['lacks the id', { detailHasId: false }, { pbtid: 77 }, withoutId],
    ['lacks the id in a list', { detail: 'list', detailHasId: false }, { pbtid: 77 }, { list: [withoutId] }],
  ])('%s', async (_name, readings, fields, data) => {
    expect(await ask(readings, fields)).toEqual(data);
  });
});
