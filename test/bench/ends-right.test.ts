import { expect, it } from '@jest/globals';
import { type Attempt, verdict } from '../../bench/compare/ends-right.ts';

const RECORDS = 100;
const nothing = { rows: 0, distinct: 0 };
const whole = { rows: RECORDS, distinct: RECORDS };
const half = { rows: RECORDS / 2, distinct: RECORDS / 2 };
const doubled = { rows: RECORDS + 1, distinct: RECORDS };
const again: Attempt = { ended: 'complete', lake: whole };

it.each<{ name: string; first: Attempt; again: Attempt; ends: string }>([
  { name: 'nothing is left of a failure', first: { ended: 'failed', lake: nothing }, again, ends: 'right' },
  { name: 'the day was whole at once', first: { ended: 'complete', lake: whole }, again, ends: 'right' },
  {
    name: 'a part is called complete',
    first: { ended: 'complete', lake: half },
    again,
    ends: '**wrong until the rerun, and silent**',
  },
  {
    name: 'doubled rows are called complete',
    first: { ended: 'complete', lake: doubled },
    again,
    ends: '**wrong until the rerun, and silent**',
  },
  {
    name: 'nothing is called complete',
    first: { ended: 'complete', lake: nothing },
    again,
    ends: '**wrong until the rerun, and silent**',
  },
  {
    name: 'a part is left of a failure',
    first: { ended: 'failed', lake: half },
    again,
    ends: 'right, broken until the rerun',
  },
  {
    name: 'a broken file is left of a crash',
    first: { ended: 'killed', lake: 'unreadable' },
    again,
    ends: 'right, broken until the rerun',
  },
  {
    name: 'the run never ends',
    first: { ended: 'never', lake: nothing },
    again,
    ends: '**only after a kill**',
  },
  {
    name: 'the rerun doubles rows',
    first: { ended: 'complete', lake: whole },
    again: { ended: 'complete', lake: doubled },
    ends: '**wrong**',
  },
  {
    name: 'the rerun brings nothing',
    first: { ended: 'failed', lake: nothing },
    again: { ended: 'failed', lake: nothing },
    ends: '**wrong**',
  },
])('who ends right: $name', ({ first, again, ends }) => {
  expect(verdict(first, again, RECORDS)).toBe(ends);
});
