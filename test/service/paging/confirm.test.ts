import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { ReportService } from '../../../shared/ports.ts';
import type { Paging } from '../../../shared/reports/definition.ts';
import type { Page, PageRequest, Resume } from '../../../shared/service/paging/page.ts';
import { pages } from '../../../shared/service/paging/pages.ts';
import {
  type ForgetfulInterpretation,
  answersInTurn,
  cursorService,
  forgetfulService,
  numberedService,
  pagedService,
} from '../../fakes/paged-service.ts';

const SIZE = 20;
const pageSize = { min: 1, max: 200, default: 20 };
const styles: Record<'cursor' | 'position' | 'numbered', Paging> = {
  cursor: { style: 'cursor', pageSize: { field: 'limit', ...pageSize } },
  position: { style: 'position', pageSize: { field: 'page_size', ...pageSize } },
  numbered: { style: 'numbered', pageSize: { field: 'page_size', ...pageSize }, fixedFields: {} },
};

function requestOf(service: ReportService, style: keyof typeof styles): PageRequest {
  const paging = styles[style];
  return { service, action: 'report/any', paging, pageSize: SIZE, firstPage: 1, fields: {} };
}

async function recordsOf(request: PageRequest, resume?: Resume): Promise<JsonObject[]> {
  const records: JsonObject[] = [];
  for await (const page of pages(request, resume)) records.push(...page.records);
  return records;
}

/** Reads the pass again from its first page whenever a cursor has died, as the pipeline does. */
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

describe('a cursor that dies within a pass', () => {
  const forgetsAt = fc.array(fc.integer({ min: 2, max: 30 }), { maxLength: 3 });
  const interpretation = {
    size: fc.constantFrom(5, 10, 20),
    forgetsAt,
    dead: fc.constantFrom('empty' as const, 'restart' as const),
  };
  const count = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 5, 10, 20, 40));

  it('I8: neither cuts the pass nor doubles records, duplicates or not', async () => {
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
      { numRuns: 300 },
    );
  });

  it('I8: does neither where every answer names a new cursor, nor where an opaque position dies', async () => {
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
      { numRuns: 300 },
    );
  });

  it.each<{ shows: string; dead: 'empty' | 'restart'; says: RegExp }>([
    { shows: 'an empty last page', dead: 'empty', says: /an empty last page.*has forgotten/ },
    { shows: 'the first page again', dead: 'restart', says: /the first page again.*has forgotten/ },
  ])('I8: and shows as $shows fails as cursor_died', async ({ dead, says }) => {
    const how = { style: 'cursor', size: 20, forgetsAt: [3], dead, stable: true, eager: false } as const;
    const pass = recordsOf(requestOf(forgetfulService(identified(100), how).service, 'cursor'));
    await expect(pass).rejects.toMatchObject({ kind: 'contract', code: 'cursor_died' });
    await expect(pass).rejects.toThrow(says);
  });

  it.each(['empty', 'restart'] as const)(
    'I8: is recognised behind a page that an earlier run read: %s',
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

/** Answers every request of the pass but one, which gets what `fault` makes of its answer. */
function answersOnceWrong(service: ReportService, nth: number, fault: (data: JsonObject) => JsonObject) {
  return pagedService(async (fields, number) => {
    const { data } = await service.call('report/any', fields);
    return { data: number === nth ? fault(data) : data };
  });
}

describe('one answer that would end the pass', () => {
  const withoutCursor = ({ cursor: _cursor, ...data }: JsonObject): JsonObject => data;
  const opaque = {
    write: (at: number) => `c-${at}`,
    read: (cursor: unknown) => Number(String(cursor).slice(2)),
  };
  const cursors = (held: number, end: null | 'absent' = null, cap = 100) =>
    cursorService(identified(held), { end, place: 'data', cap, empty: 0, ...opaque }).service;
  const numbers = (held: number, cap = 100) =>
    numberedService(identified(held), { pastTheEnd: 'empty', firstPage: 1, cap, list: 'list' }).service;

  it.each<{ answer: string; style: 'cursor' | 'numbered'; wrong: ReportService; held: number }>([
    {
      answer: 'a full first page that lacks the cursor',
      style: 'cursor',
      wrong: answersOnceWrong(cursors(50), 1, withoutCursor).service,
      held: 50,
    },
    {
      answer: 'a later page that lacks the cursor, however short',
      style: 'cursor',
      wrong: answersOnceWrong(cursors(50, null, 7), 3, withoutCursor).service,
      held: 50,
    },
    {
      answer: 'an empty page behind one of the size asked for',
      style: 'numbered',
      wrong: answersOnceWrong(numbers(70), 2, () => ({ list: [] })).service,
      held: 70,
    },
    {
      answer: 'an empty page behind two of a size that the service caps',
      style: 'numbered',
      wrong: answersOnceWrong(numbers(50, 7), 3, () => ({ list: [] })).service,
      held: 50,
    },
  ])('I8: is asked for again, and the pass goes on: $answer', async ({ style, wrong, held }) => {
    expect(await recordsOf(requestOf(wrong, style))).toEqual(identified(held));
  });

  it('I8: an empty numbered page is asked for again where the run before read the page before it', async () => {
    const { service } = answersOnceWrong(numbers(50), 1, () => ({ list: [] }));
    const resume = { cursor: 3, seen: [], last: { cursor: 2, hash: '' } };
    expect(await recordsOf(requestOf(service, 'numbered'), resume)).toEqual(identified(50).slice(40));
  });

  it.each<{ pass: string; style: 'cursor' | 'numbered'; service: ReportService; requests: number }>([
    { pass: 'of numbered pages, the last one short', style: 'numbered', service: numbers(50), requests: 4 },
    { pass: 'of numbered pages, the last one full', style: 'numbered', service: numbers(40), requests: 4 },
    { pass: 'of one short numbered page', style: 'numbered', service: numbers(7), requests: 2 },
    { pass: 'of no record', style: 'numbered', service: numbers(0), requests: 1 },
    { pass: 'of cursors that end with null', style: 'cursor', service: cursors(40), requests: 2 },
    {
      pass: 'of cursors, one short page without a cursor',
      style: 'cursor',
      service: cursors(7, 'absent'),
      requests: 1,
    },
    {
      pass: 'of cursors, the last page without one',
      style: 'cursor',
      service: cursors(50, 'absent'),
      requests: 4,
    },
    {
      pass: 'of cursors, none on the only page, which is full',
      style: 'cursor',
      service: cursors(20, 'absent'),
      requests: 2,
    },
    {
      pass: 'of cursors, no record and no cursor',
      style: 'cursor',
      service: cursors(0, 'absent'),
      requests: 1,
    },
  ])('$requests requests read a pass $pass', async ({ style, service, requests }) => {
    const counted = pagedService(async (fields) => ({
      data: (await service.call('report/any', fields)).data,
    }));
    await recordsOf(requestOf(counted.service, style));
    expect(counted.requests).toHaveLength(requests);
  });

  it('costs two requests more: an empty last page behind a cursor', async () => {
    const how = { size: 20, forgetsAt: [], dead: 'empty', stable: true, eager: true } as const;
    for (const style of ['cursor', 'position'] as const) {
      const counted = forgetfulService(identified(40), { ...how, style });
      expect(await recordsOf(requestOf(counted.service, style))).toEqual(identified(40));
      expect(counted.requests).toHaveLength(5);
    }
  });

  it('I8: two answers that differ count as the second', async () => {
    const [full, more] = [identified(20), identified(25)];
    const { service } = answersInTurn(
      { list: full },
      { list: full, cursor: 'a' },
      { list: more.slice(20), cursor: null },
    );
    expect(await recordsOf(requestOf(service, 'cursor'))).toEqual(more);
  });
});
