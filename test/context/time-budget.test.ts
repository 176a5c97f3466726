import { describe, expect, it } from '@jest/globals';
import { createTimeBudget } from '../../shared/context/time-budget.ts';

const DEADLINE = { softMs: 100, hardMs: 200 };

describe('the time of a run', () => {
  it.each([
    ['neither up nor over before its soft end', 99, false, false],
    ['up from its soft end on', 100, true, false],
    ['over from its hard end on', 200, true, true],
  ])('is %s', (_name, nowMs, isUp, isOver) => {
    const time = createTimeBudget(DEADLINE, () => nowMs);
    expect({ isUp: time.isUp(), isOver: time.isOver() }).toEqual({ isUp, isOver });
  });

  it('never ends without a deadline', () => {
    const time = createTimeBudget(undefined, () => Number.MAX_SAFE_INTEGER);
    expect([time.isUp(), time.isOver()]).toEqual([false, false]);
  });

  it.each([
    ['before its soft end', 40, [60, 160]],
    ['between its ends', 150, [0, 50]],
    ['after its hard end', 250, [0, 0]],
  ])('is counted down to both ends: %s', (_name, nowMs, left) => {
    const time = createTimeBudget(DEADLINE, () => nowMs);
    expect([time.leftMs(), time.untilOverMs()]).toEqual(left);
  });

  it('follows a deadline that moves while the run works', () => {
    const deadline = { ...DEADLINE };
    const time = createTimeBudget(deadline, () => 50);
    deadline.softMs = 50;
    expect(time.isUp()).toBe(true);
  });

  it('is enough for one day even if the time is up, and for no further day', () => {
    const time = createTimeBudget(DEADLINE, () => 150);
    expect([time.tryStartDay(), time.tryStartDay()]).toEqual([true, false]);
  });
});
