import { expect, it } from '@jest/globals';
import { HOUR_MS, endOfDay, startOfDay } from '../../shared/base/days.ts';
import { emptySlice } from '../../shared/planning/attempt-decision.ts';
import { readingOf } from '../../shared/planning/reading.ts';
import { ZONE, policy } from './entries.ts';

const DAY = '2026-03-19';
const END_MS = endOfDay(DAY, ZONE);

it.each([
  ['began before now', END_MS + HOUR_MS, true, END_MS + HOUR_MS],
  [
    'seems to begin later than now, by a clock that was corrected since',
    END_MS + 3 * HOUR_MS,
    false,
    END_MS + 2 * HOUR_MS,
  ],
])('I2: a reading that %s closes the day, or not', (_name, beganMs, closed, startedMs) => {
  const startedAt = new Date(beganMs).toISOString();
  const window = { fromMs: startOfDay(DAY, ZONE), toMs: END_MS, whole: true };
  const slice = emptySlice({ ...window, startedAt }, [{ role: 'include', fields: {} }]);
  const reading = readingOf(DAY, policy, [slice], END_MS + 2 * HOUR_MS);
  expect(reading).toMatchObject({ closed, startedMs, endedMs: startedMs });
  expect(reading.recorded.readFrom).toBe(new Date(startedMs).toISOString());
});
