import { describe, expect, it } from '@jest/globals';
import { type JsonObject, rawNumber, stringifyJson } from '../../shared/base/json.ts';
import type { ReportService } from '../../shared/ports.ts';
import type { UpstreamRecord } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { lookUp } from '../../shared/service/lookup.ts';
import { answersInTurn } from '../fakes/paged-service.ts';

const action = 'report/clicks_detail';
const id = '9007199254740993';

function lookUpClick(service: ReportService, optional: UpstreamRecord['optional'] = {}, key = id) {
  const paging = reports.clicks_detail?.paging;
  if (paging?.style !== 'lookup') throw new Error('clicks_detail is not looked up');
  return lookUp(service, action, paging.lookup, { key, optional });
}

describe('the detail of a click that is looked up', () => {
  it.each<[string, string, UpstreamRecord['optional'], string]>([
    ['numbers if both are canonical', id, { pbtid: '12' }, `{"id":${id},"pbtid":12}`],
    ['no pbtid if it is unknown', id, {}, `{"id":${id}}`],
    ['no pbtid if it is empty', id, { pbtid: '' }, `{"id":${id}}`],
    ['no text pbtid with an integer id', id, { pbtid: 'ab' }, `{"id":${id}}`],
    ['text if neither is canonical', '007', { pbtid: 'ab' }, '{"id":"007","pbtid":"ab"}'],
    ['text with a number', 'x-1', { pbtid: '12' }, '{"id":"x-1","pbtid":12}'],
    ['no column that the report does not look up', id, { channel_id: '7' }, `{"id":${id}}`],
  ])('is requested with %s', async (_name, key, optional, fields) => {
    const { service, requests } = answersInTurn({});
    await lookUpClick(service, optional, key);
    expect(requests.map(stringifyJson)).toEqual([fields]);
  });

  const prototypes: JsonObject = Object.fromEntries([
    ['__proto__', { id: '1' }],
    ['constructor', 'x'],
  ]);
  const detail: JsonObject = { id, country: 'DE', items: [1, 2], device: { os: 'x' } };
  it.each<[string, JsonObject, JsonObject[]]>([
    ['data.list', { list: [detail, { ...detail, country: 'FR' }] }, [detail, { ...detail, country: 'FR' }]],
    ['data.list with other keys', { count: 1, list: [detail] }, [detail]],
    ['data itself', detail, [detail]],
    ['the only object in data', { click: detail }, [detail]],
    ['the only list in data', { clicks: [detail] }, [detail]],
    ['data itself, without an id', { country: 'DE', os: 'x' }, [{ id, country: 'DE', os: 'x' }]],
    ['a record with one field', { country: 'DE' }, [{ id, country: 'DE' }]],
    ['a record whose id is null', { id: null, os: 'x' }, [{ id, os: 'x' }]],
    ['an id that is a number', { id: rawNumber(id), os: 'x' }, [{ id: rawNumber(id), os: 'x' }]],
    ['an id with leading zeros', { id: `00${id}`, os: 'x' }, [{ id: `00${id}`, os: 'x' }]],
    ['data itself, though it has a list', { id, country: 'DE', list: [] }, [{ id, country: 'DE', list: [] }]],
    [
      'data itself, though it has objects in a list',
      { id, list: [{ id: '1' }] },
      [{ id, list: [{ id: '1' }] }],
    ],
    ['two equal records in data.list', { list: [detail, detail] }, [detail, detail]],
    ['a record with a field named like a prototype', prototypes, [{ id, ...prototypes }]],
    ['a record with an error in it', { error: 'unknown', code: 4 }, [{ id, error: 'unknown', code: 4 }]],
    ['empty data', {}, []],
    ['a list of empty objects', { list: [{}, {}] }, []],
    ['an empty list', { list: [] }, []],
    ['null for a list', { list: null }, []],
    ['null for a list with other keys', { list: null, count: 0 }, []],
    ['an empty object for a list with other keys', { list: {}, count: 0 }, []],
    ['an empty list with other keys', { list: [], count: 0 }, []],
    ['an empty object in data', { click: {} }, []],
    ['null in data', { click: null }, []],
  ])('is read from %s', async (_name, data, records) => {
    const { service } = answersInTurn(data);
    const found = await lookUpClick(service);
    expect(found.map(stringifyJson)).toEqual(records.map(stringifyJson));
    for (const record of found) expect(Object.keys(record)[0]).toBe('id');
  });

  it.each<[string, JsonObject, string]>([
    ['another id as text', { id: '9007199254740992', os: 'x' }, 'other_id'],
    ['another id as a number', { id: rawNumber('9007199254740992'), os: 'x' }, 'other_id'],
    ['another id in one record of a list', { list: [{ id }, { id: '1' }] }, 'other_id'],
    ['an id that is an object', { id: { value: id }, os: 'x' }, 'other_id'],
    ['an id that is true', { id: true, os: 'x' }, 'other_id'],
    ['an id that is a list', { id: [id], os: 'x' }, 'other_id'],
    ['an id that is an empty text', { id: '', os: 'x' }, 'other_id'],
    ['an id that is written with an exponent', { id: rawNumber('9007199254740993e0') }, 'other_id'],
    ['another id beside a list', { id: '1', list: [{ id }] }, 'other_id'],
    ['another id in the only object', { click: { id: '1' } }, 'other_id'],
    ['a list of text', { list: ['x'] }, 'bad_record'],
    ['a list with null in it', { list: [{ id }, null] }, 'bad_record'],
    ['a list of lists', { list: [[{ id }]] }, 'bad_record'],
    ['a list with a number in it', { clicks: [rawNumber(id)] }, 'bad_record'],
  ])('I8: is refused with %s', async (_name, data, code) => {
    const { service } = answersInTurn(data);
    await expect(lookUpClick(service)).rejects.toMatchObject({ kind: 'contract', code });
  });
});
