import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../shared/base/json.ts';
import type { ReportService } from '../../../shared/ports.ts';
import type { PagedStyle } from '../../../shared/service/paging/page.ts';
import { type PagingHabits, ShownHabits } from '../../../shared/service/paging/habits.ts';
import { pages } from '../../../shared/service/paging/pages.ts';
import { cursorService, numberedService } from '../../fakes/paged-service.ts';

const pageSize = { min: 20, max: 200, default: 100 };
const styles: Record<'cursor' | 'numbered', PagedStyle> = {
  cursor: { style: 'cursor', pageSize: { field: 'limit', ...pageSize } },
  numbered: { style: 'numbered', pageSize: { field: 'page_size', ...pageSize }, fixedFields: {} },
};

function identified(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({ id: `id-${index}` }));
}

const numbered = (held: number, cap = 100, pastTheEnd: 'empty' | 'repeat' = 'empty') =>
  numberedService(identified(held), { pastTheEnd, firstPage: 1, cap, list: 'list' });
const cursors = (held: number, cap: number, end: null | '' | 'absent') =>
  cursorService(identified(held), {
    ...{ end, cap, place: 'data', empty: 0 },
    write: (at) => `c-${at}`,
    read: (cursor) => Number(String(cursor).slice(2)),
  });

async function readAll(style: keyof typeof styles, service: ReportService, known?: PagingHabits) {
  const shown = new ShownHabits(known);
  const request = {
    ...{ service, action: 'report/any', paging: styles[style], pageSize: 100, firstPage: 1, fields: {} },
  };
  let records = 0;
  for await (const page of pages(request, undefined, shown)) records += page.records.count;
  return { records, shown: shown.own };
}

describe('a full read with known habits of the service', () => {
  const capped = { longest: 20, followed: 20 };
  it.each<[string, keyof typeof styles, number, ReturnType<typeof numbered>, number, PagingHabits?]>([
    ['nothing is known', 'numbered', 30, numbered(30), 3],
    ['a longer page was seen', 'numbered', 30, numbered(30), 2, { longest: 31 }],
    ['no longer page was seen', 'numbered', 30, numbered(30), 3, { longest: 30 }],
    ['a shorter page was followed', 'numbered', 30, numbered(30), 3, { longest: 90, followed: 10 }],
    ['the cap is lower than before', 'numbered', 30, numbered(30, 20), 4, { longest: 90, followed: 90 }],
    ['the last numbered page is full', 'numbered', 40, numbered(40, 20), 4, { longest: 20, followed: 20 }],
    ['the last of several pages lacks the cursor', 'cursor', 30, cursors(30, 20, 'absent'), 3, capped],
    ['the only page is as long as the cap', 'cursor', 20, cursors(20, 20, 'absent'), 2, capped],
    ['the only page is the longest so far', 'cursor', 20, cursors(20, 20, 'absent'), 1, { longest: 20 }],
  ])(
    'I8: requests what one response cannot prove if %s',
    async (_name, style, held, service, requests, ...[known]) => {
      expect((await readAll(style, service.service, known)).records).toBe(held);
      expect(service.requests).toHaveLength(requests);
    },
  );

  it('I8: reads on if a full page in the middle has lost its cursor', async () => {
    const { service } = cursors(50, 20, 'absent');
    let calls = 0;
    const losesOne: ReportService = {
      ...service,
      async call(...asked) {
        const answer = await service.call(...asked);
        calls += 1;
        const { cursor: _lost, ...data } = answer.data;
        return calls === 2 ? { ...answer, data } : answer;
      },
    };
    expect((await readAll('cursor', losesOne, { longest: 20, followed: 20 })).records).toBe(50);
  });
});

describe('habits that a full read shows', () => {
  it.each<[string, 'cursor' | 'numbered', ReturnType<typeof numbered>, PagingHabits]>([
    ['one page', 'numbered', numbered(30), { longest: 30 }],
    ['several pages', 'numbered', numbered(50, 20), { longest: 20, followed: 20 }],
    ['a repeated last page, which is not followed', 'numbered', numbered(30, 100, 'repeat'), { longest: 30 }],
    ['an empty day', 'cursor', cursors(0, 20, 'absent'), { longest: 0 }],
  ])('are learned from its records: %s', async (_name, style, { service }, habits) => {
    expect((await readAll(style, service)).shown).toEqual(habits);
  });
});
