import { recordsOfList } from '../../../shared/records/record-list.ts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../../shared/base/errors.ts';
import type { JsonObject } from '../../../shared/base/json.ts';
import type { ReportService } from '../../../shared/ports.ts';
import type { Page, PagedStyle, PageRequest, Resume } from '../../../shared/service/paging/page.ts';
import { pages } from '../../../shared/service/paging/pages.ts';
import {
  type ForgetfulInterpretation,
  answersInTurn,
  cursorService,
  forgetfulService,
  numberedService,
  pagedService,
} from '../../fakes/paged-service.ts';
import { runs } from '../../fixtures/property-runs.ts';

const SIZE = 20;
const pageSize = { min: SIZE, max: 200, default: SIZE };
const styles: Record<'cursor' | 'position' | 'numbered', PagedStyle> = {
  cursor: { style: 'cursor', pageSize: { field: 'limit', ...pageSize } },
  position: { style: 'position', pageSize: { field: 'page_size', ...pageSize } },
  numbered: { style: 'numbered', pageSize: { field: 'page_size', ...pageSize }, fixedFields: {} },
};

function requestOf(service: ReportService, style: keyof typeof styles, size = SIZE): PageRequest {
  const paging = styles[style];
  return { service, action: 'report/any', paging, pageSize: size, firstPage: 1, fields: {} };
}

async function recordsOf(request: PageRequest, resume?: Resume): Promise<JsonObject[]> {
  const records: JsonObject[] = [];
  for await (const page of pages(request, resume)) records.push(...recordsOfList(page.records));
  return records;
}

/** Reads again from the first page whenever a cursor has expired, as the pipeline does. */
async function recordsWithRestarts(request: PageRequest): Promise<JsonObject[]> {
  for (let restarts = 0; restarts < 20; restarts += 1) {
    try {
      return await recordsOf(request);
    } catch (error) {
      if (!(error instanceof BrandReportsError) || error.code !== 'cursor_died') throw error;
    }
  }
  throw new Error('20 restarts did not come to an end');
}

function identified(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({ id: `id-${index}` }));
}

/** Duplicates that make whole pages equal. */
function alike(count: number, kinds: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({ amount: Math.floor(index / 5) % kinds }));
}

describe('a cursor that expires during a read', () => {
  const forgetsAt = fc.array(fc.integer({ min: 2, max: 30 }), { maxLength: 3 });
  const interpretation = {
    size: fc.constantFrom(5, 10, 20),
    forgetsAt,
    dead: fc.constantFrom('empty' as const, 'restart' as const),
  };
  const count = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 5, 10, 20, 40));

  it('I8: neither shortens the read nor doubles records, with duplicates or without', async () => {
    const given = fc.record({
      style: fc.constant('cursor' as const),
      stable: fc.constant(true),
      eager: fc.boolean(),
      ...interpretation,
    });
    const records = fc.oneof(
      count.map(identified),
      fc.tuple(count, fc.integer({ min: 1, max: 3 })).map(([held, kinds]) => alike(held, kinds)),
    );
    await fc.assert(
      fc.asyncProperty(records, given, async (held, how: ForgetfulInterpretation) => {
        const { service } = forgetfulService(held, how);
        expect(await recordsWithRestarts(requestOf(service, 'cursor'))).toEqual(held);
      }),
      runs(300),
    );
  });

  it('I8: does neither if every response has a new cursor, or if an opaque position expires', async () => {
    const given = fc.record({
      style: fc.constantFrom('cursor' as const, 'position' as const),
      stable: fc.boolean(),
      eager: fc.constant(false),
      ...interpretation,
    });
    await fc.assert(
      fc.asyncProperty(count, given, async (held, how: ForgetfulInterpretation) => {
        const { service } = forgetfulService(identified(held), how);
        expect(await recordsWithRestarts(requestOf(service, how.style))).toEqual(identified(held));
      }),
      runs(300),
    );
  });

  it.each<{ shows: string; dead: 'empty' | 'restart'; message: RegExp }>([
    { shows: 'an empty last page', dead: 'empty', message: /an empty last page.*has expired/ },
    { shows: 'the first page again', dead: 'restart', message: /the first page again.*has expired/ },
  ])('I8: fails as cursor_died if the service returns $shows', async ({ dead, message }) => {
    const how = { style: 'cursor', size: 20, forgetsAt: [3], dead, stable: true, eager: false } as const;
    const pass = recordsOf(requestOf(forgetfulService(identified(100), how).service, 'cursor'));
    await expect(pass).rejects.toMatchObject({ kind: 'contract', code: 'cursor_died' });
    await expect(pass).rejects.toThrow(message);
  });

  it.each(['empty', 'restart'] as const)(
    'I8: is recognised after a page that an earlier run read: %s',
    async (dead) => {
      const how = { style: 'cursor', size: 20, forgetsAt: [4], dead, stable: true, eager: false } as const;
      const { service } = forgetfulService(identified(100), how);
      const request = requestOf(service, 'cursor');
      const kept: Page[] = [];
      for await (const page of pages(request)) {
        kept.push(page);
        if (kept.length === 2) break;
      }
      const last = kept.at(-1);
      const resumed = recordsOf(request, {
        cursor: last?.next ?? null,
        seen: kept.map(({ seen }) => seen),
        last: { cursor: last?.cursor ?? null, hash: last?.hash ?? '' },
      });
      await expect(resumed).rejects.toMatchObject({ code: 'cursor_died' });
    },
  );
});

describe('a list that begins again after its first page has changed', () => {
  const [first, ...others] = identified(100);
  const nineteen = others.slice(0, 19);
  const restated = { id: 'id-0', status: 'void' };
  const changes: [string, JsonObject[]][] = [
    ['a record is restated', [restated, ...others]],
    ['a record is added at the front', [{ id: 'new' }, ...identified(100)]],
    ['its first record is removed', others],
    ['its last record is restated', [...identified(19), restated, ...identified(100).slice(20)]],
    ['nine records are added at the front', [...Array(9).fill({ id: 'new' }), ...identified(100)]],
    [
      'one of its records moves to the next page',
      [restated, ...nineteen, { id: 'id-0' }, ...others.slice(20)],
    ],
  ];

  it.each(changes)('I8: neither doubles nor loses records: %s', async (_name, changed) => {
    for (const style of ['cursor', 'position'] as const) {
      const held = first ? [first, ...others] : [];
      const how = { style, size: 20, forgetsAt: [4], dead: 'restart', stable: true, eager: false } as const;
      const { service } = forgetfulService(held, how);
      const changing = pagedService(async (fields, number) => {
        if (number === 4) held.splice(0, held.length, ...changed);
        return { data: (await service.call('report/any', fields)).data };
      });
      expect(await recordsWithRestarts(requestOf(changing.service, style))).toEqual(changed);
    }
  });

  const [page, other] = [identified(10), identified(20).slice(10)];

  it.each<[string, 'cursor' | 'position', JsonObject[]]>([
    [
      'its first record occurs again',
      'cursor',
      [
        { list: page, cursor: 'a' },
        { list: [...page.slice(0, 1), ...other], cursor: 'b' },
        { list: other, cursor: null },
      ],
    ],
    [
      'the last page has only records of the first page',
      'cursor',
      [
        { list: page, cursor: 'a' },
        { list: page.slice(9), cursor: null },
      ],
    ],
  ])(
    'is not taken for an expired cursor, and costs no further request: %s',
    async (_name, style, answers) => {
      const { service, requests } = answersInTurn(...answers);
      await recordsOf(requestOf(service, style));
      expect(requests).toHaveLength(answers.length);
    },
  );

  it('I1: costs a further request if most records of a page are like records of the first page', async () => {
    const held = [...identified(20), ...identified(19), ...others.slice(20, 40)];
    const how = { style: 'cursor', size: 20, forgetsAt: [], dead: 'restart', stable: true } as const;
    const { service, requests } = forgetfulService(held, { ...how, eager: false });
    expect(await recordsOf(requestOf(service, 'cursor'))).toEqual(held);
    expect(requests).toHaveLength(4);
  });
});

/** Answers every request of the read, but passes one response through `fault`. */
function answersOnceWrong(service: ReportService, nth: number, fault: (data: JsonObject) => JsonObject) {
  return pagedService(async (fields, number) => {
    const { data } = await service.call('report/any', fields);
    return { data: number === nth ? fault(data) : data };
  });
}

describe('one response that would end the read', () => {
  const withoutCursor = ({ cursor: _cursor, ...data }: JsonObject): JsonObject => data;
  const opaque = {
    write: (at: number) => `c-${at}`,
    read: (cursor: unknown) => Number(String(cursor).slice(2)),
  };
  const cursors = (held: number, end: null | 'absent' = null, cap = 100) =>
    cursorService(identified(held), { end, place: 'data', cap, empty: 0, ...opaque }).service;
  const numbers = (held: number, cap = 100) =>
    numberedService(identified(held), { pastTheEnd: 'empty', firstPage: 1, cap, list: 'list' }).service;

  it.each<[string, 'cursor' | 'numbered', ReturnType<typeof answersOnceWrong>, number, number?]>([
    [
      'a full first page that lacks the cursor',
      'cursor',
      answersOnceWrong(cursors(50), 1, withoutCursor),
      50,
    ],
    [
      'a later page that lacks the cursor, however short',
      'cursor',
      answersOnceWrong(cursors(50, null, 7), 3, withoutCursor),
      50,
    ],
    [
      'an empty page after a page of the requested size',
      'numbered',
      answersOnceWrong(numbers(70), 2, () => ({ list: [] })),
      70,
    ],
    [
      'an empty page after two pages of a size that the service caps',
      'numbered',
      answersOnceWrong(numbers(50, 7), 3, () => ({ list: [] })),
      50,
    ],
    [
      'an empty page after the first page, which the service may have capped',
      'numbered',
      answersOnceWrong(numbers(50, 20), 2, () => ({ list: [] })),
      50,
      100,
    ],
  ])(
    'I8: is requested again, and the read goes on: %s',
    async (_name, style, { service }, held, ...[size]) => {
      expect(await recordsOf(requestOf(service, style, size))).toEqual(identified(held));
    },
  );

  it('I8: is requested again if it is an empty numbered page and an earlier run read the page before it', async () => {
    const { service } = answersOnceWrong(numbers(50), 1, () => ({ list: [] }));
    const resume = { cursor: 3, seen: [], last: { cursor: 2, hash: '' } };
    expect(await recordsOf(requestOf(service, 'numbered'), resume)).toEqual(identified(50).slice(40));
  });

  it('I8: is replaced by the second response if the two differ', async () => {
    const [full, more] = [identified(20), identified(25)];
    const { service } = answersInTurn(
      { list: full },
      { list: full, cursor: 'a' },
      { list: more.slice(20), cursor: null },
    );
    expect(await recordsOf(requestOf(service, 'cursor'))).toEqual(more);
  });
});
