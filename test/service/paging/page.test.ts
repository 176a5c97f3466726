import { describe, expect, it } from '@jest/globals';
import { NO_RECORDS, recordListOf } from '../../../shared/records/record-list.ts';
import {
  type Json,
  type JsonObject,
  parseJson,
  rawNumber,
  stringifyJson,
} from '../../../shared/base/json.ts';
import {
  type Cursor,
  hashOf,
  isCursor,
  type PagedStyle,
  storedCursor,
  styleOf,
} from '../../../shared/service/paging/page.ts';
import { answersInTurn } from '../../fakes/paged-service.ts';

const cursors: [string, Json][] = [
  ['text', 'c-1'],
  ['empty text', ''],
  ['a number', 0],
  ['a number of many digits', rawNumber('9007199254740993')],
];
const others: [string, Json][] = [
  ['true', true],
  ['an object', { after: 1 }],
  ['a list', ['c-1']],
];

describe('a cursor', () => {
  it.each(cursors)('may be %s, and is stored and read unchanged', (_name, cursor) => {
    expect(isCursor(cursor)).toBe(true);
    expect(stringifyJson(storedCursor(parseJson(stringifyJson(cursor))))).toBe(stringifyJson(cursor));
  });

  it.each([...others, ['null', null], ['missing', undefined]] satisfies [string, Json | undefined][])(
    'is not accepted if it is %s',
    (_name, value) => {
      expect(isCursor(value)).toBe(false);
    },
  );

  it('that is stored as null is null', () => {
    expect(storedCursor(null)).toBeNull();
  });

  it.each(others)('that is stored is a bug if it is %s', (_name, value) => {
    expect(() => storedCursor(value)).toThrow(
      expect.objectContaining({
        kind: 'bug',
        code: 'bad_cursor',
        message: `a stored cursor is text or a number, not ${stringifyJson(value)}`,
      }),
    );
  });
});

describe('the hash of records', () => {
  it('is the same for the same records, and depends on their order, their values and every digit', () => {
    const [a, b] = [{ id: 'a' }, { id: 'b' }];
    const hashes = [
      hashOf(recordListOf([])),
      hashOf(recordListOf([a])),
      hashOf(recordListOf([a, b])),
      hashOf(recordListOf([b, a])),
      hashOf(recordListOf([{ id: rawNumber('1.10') }])),
      hashOf(recordListOf([{ id: rawNumber('1.1') }])),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashOf(recordListOf([{ id: 'a' }, { id: 'b' }]))).toBe(hashOf(recordListOf([a, b])));
    // The hashes in progress documents of earlier runs must stay valid.
    expect(hashOf(NO_RECORDS)).toBe('T1PNoYwrqgw');
  });
});

const bounds = { min: 1, max: 200, default: 200 };
const position: PagedStyle = { style: 'position', pageSize: { field: 'page_size', ...bounds } };
const numbered: PagedStyle = {
  style: 'numbered',
  pageSize: { field: 'page_size', ...bounds },
  fixedFields: { sort_col: 'transid' },
};
const byCursor: PagedStyle = {
  style: 'cursor',
  pageSize: { field: 'limit', ...bounds },
  countField: 'count',
};
const uncounted: PagedStyle = { style: 'cursor', pageSize: { field: 'limit', ...bounds } };

function style(paging: PagedStyle, firstPage = 1) {
  const { service } = answersInTurn({});
  const quoting = { ...service, quote: (text: string) => `<${text}>` };
  return styleOf({
    service: quoting,
    action: 'report/any',
    paging,
    pageSize: 20,
    firstPage,
    fields: { status: 'new' },
  });
}

function received(
  data: JsonObject,
  given: { cursor?: Cursor; envelope?: JsonObject; records?: number } = {},
) {
  const { cursor = null, envelope = {}, records: count = 0 } = given;
  return { cursor, data, envelope, count };
}

/** What `next` of a page throws. */
function refusal(paging: PagedStyle, data: JsonObject, given: Parameters<typeof received>[1] = {}) {
  try {
    style(paging).next(received(data, given));
  } catch (error) {
    return error;
  }
  return 'nothing';
}

describe('the fields that select a page', () => {
  it.each<[string, PagedStyle, Cursor | null, JsonObject]>([
    ['the first position', position, null, { first: 0, page_size: 20 }],
    ['a position', position, '40', { first: '40', page_size: 20 }],
    ['the position 0', position, 0, { first: 0, page_size: 20 }],
    ['the first number', numbered, null, { sort_col: 'transid', page_number: 7, page_size: 20 }],
    ['a number', numbered, 0, { sort_col: 'transid', page_number: 0, page_size: 20 }],
    ['no cursor', byCursor, null, { limit: 20 }],
    ['a cursor', byCursor, 'c-1', { cursor: 'c-1', limit: 20 }],
    ['a cursor that is empty', byCursor, '', { cursor: '', limit: 20 }],
  ])('depend on its style: %s', (_name, paging, cursor, fields) => {
    expect(style(paging, 7).fields(cursor)).toEqual(fields);
  });
});

describe('the next page', () => {
  const pageInfo = (endCursor: Json) => ({ pageInfo: { hasNextPage: true, endCursor } });

  it.each<[string, Json, string]>([
    ['an integer as text', '20', '20'],
    ['an integer', 20, '20'],
    ['an integer of many digits as text', '9007199254740993', '9007199254740993'],
    ['an integer of many digits', rawNumber('9007199254740993'), '9007199254740993'],
    ['digits that are not a canonical integer', '007', '"007"'],
    ['a number with a fraction', rawNumber('1.10'), '1.10'],
    ['text', 'x==', '"x=="'],
  ])('by position is requested with endCursor: %s', (_name, endCursor, next) => {
    expect(stringifyJson(style(position).next(received(pageInfo(endCursor))))).toBe(next);
  });

  it('by position does not exist if hasNextPage is false, whatever endCursor is', () => {
    expect(
      style(position).next(received({ pageInfo: { hasNextPage: false, endCursor: '40' } }, { records: 20 })),
    ).toBeNull();
  });

  it.each<[string, number, Cursor | undefined, number, number | null]>([
    ['after the first page', 1, undefined, 20, 2],
    ['after the first page, whose number is 0', 0, undefined, 20, 1],
    ['after a short page', 1, 4, 1, 5],
    ['after page 0', 1, 0, 20, 1],
    ['no page after an empty page', 1, 4, 0, null],
  ])('by number has the following number: %s', (_name, firstPage, cursor, records, next) => {
    const page = received({}, { records, ...(cursor !== undefined && { cursor }) });
    expect(style(numbered, firstPage).next(page)).toBe(next);
  });

  it.each<[string, JsonObject, JsonObject, Cursor | null]>([
    ['text', { cursor: 'c-1' }, {}, 'c-1'],
    ['a number', { cursor: 0 }, {}, 0],
    ['in the envelope', {}, { cursor: 'c-2' }, 'c-2'],
    ['in both: the cursor of the data', { cursor: 'c-1' }, { cursor: 'c-2' }, 'c-1'],
    ['null', { cursor: null }, { cursor: 'c-2' }, null],
    ['null in the envelope', {}, { cursor: null }, null],
    ['empty', { cursor: '' }, {}, null],
    ['absent', {}, {}, null],
  ])('by cursor has the cursor that the page names: %s', (_name, data, envelope, next) => {
    expect(style(byCursor).next(received(data, { envelope }))).toBe(next);
  });

  it.each<[string, PagedStyle, JsonObject, number]>([
    ['the number of records', byCursor, { count: 2, cursor: null }, 2],
    ['no number', byCursor, { count: 'many', cursor: null }, 2],
    ['a number that is not documented', uncounted, { count: 3, cursor: null }, 2],
  ])('by cursor does not depend on a count with %s', (_name, paging, data, records) => {
    expect(style(paging).next(received(data, { records }))).toBeNull();
  });
});

describe('a page that does not show whether another page follows', () => {
  const needs = '"data.pageInfo" needs hasNextPage, true or false;';

  it.each<[string, JsonObject, string]>([
    ['no pageInfo', {}, `${needs} it is missing`],
    ['pageInfo as a list', { pageInfo: [] }, `${needs} it is a list`],
    ['pageInfo without hasNextPage', { pageInfo: {} }, `${needs} hasNextPage is missing`],
    ['hasNextPage as text', { pageInfo: { hasNextPage: 'true' } }, `${needs} hasNextPage is a string`],
    [
      'no endCursor',
      { pageInfo: { hasNextPage: true } },
      'hasNextPage is true, so endCursor needs a position; it is missing',
    ],
    [
      'an empty endCursor',
      { pageInfo: { hasNextPage: true, endCursor: '' } },
      'hasNextPage is true, so endCursor needs a position; it is empty',
    ],
    [
      'an endCursor of null',
      { pageInfo: { hasNextPage: true, endCursor: null } },
      'hasNextPage is true, so endCursor needs a position; it is null',
    ],
  ])('I8: is refused: by position with %s', (_name, data, message) => {
    expect(refusal(position, data)).toMatchObject({
      ...{ kind: 'contract', code: 'page_info', message: `report/any: ${message}` },
    });
  });

  it.each<[string, Json, string]>([
    ['an object', {}, 'an object'],
    ['true', true, 'a boolean'],
  ])('I8: is refused: by cursor with %s', (_name, cursor, kind) => {
    expect(refusal(byCursor, { cursor })).toMatchObject({
      kind: 'contract',
      code: 'bad_cursor',
      message: `report/any: "cursor" is ${kind}; text, a number or null is expected`,
    });
  });

  it('I8: is refused: by cursor with a different count of its records', () => {
    expect(refusal(byCursor, { count: 3, cursor: 'c-1' }, { records: 2 })).toMatchObject({
      kind: 'contract',
      code: 'count_mismatch',
      message: `report/any: "data" has <"count": 3>, but the list has 2 records; report it to the service's operator`,
    });
  });
});
