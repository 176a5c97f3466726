import { describe, expect, it } from '@jest/globals';
import type { Interpretations } from '../../sample/interpretations.ts';
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

async function fetchDetail(
  interpretations: Partial<Interpretations>,
  fields: JsonObject,
): Promise<JsonObject> {
  const service = await startAcme({ interpretations }, records);
  const { data } = await call(service, 'report/clicks_detail', fields);
  return data;
}

describe('the detail of a click', () => {
  it.each<[string, Partial<Interpretations>, JsonObject, JsonObject]>([
    ['is found by an id beyond 2^53', {}, { id: rawNumber(id) }, detail],
    ['is found by pbtid', {}, { pbtid: 77 }, detail],
    ['is found by id and pbtid together', {}, { id: rawNumber(id), pbtid: 77 }, detail],
    ['is not found by the id and pbtid of different clicks', {}, { id: rawNumber(id), pbtid: 78 }, {}],
    ['is empty for an unknown id', {}, { id: 5 }, {}],
    ['is an empty list for an unknown id', { detail: 'list' }, { id: 5 }, { list: [] }],
    ['can be a list', { detail: 'list' }, { pbtid: 77 }, { list: [detail] }],
    ['can be nested in data.click', { detail: 'named' }, { pbtid: 77 }, { click: detail }],
    ['may have no id', { detailHasId: false }, { pbtid: 77 }, withoutId],
    [
      'may have no id in a list',
      { detail: 'list', detailHasId: false },
      { pbtid: 77 },
      { list: [withoutId] },
    ],
  ])('the detail %s', async (_name, interpretations, fields, data) => {
    expect(await fetchDetail(interpretations, fields)).toEqual(data);
  });
});
