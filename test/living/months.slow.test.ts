import { describe } from '@jest/globals';
import { hardships } from './months.ts';
import { itLives } from './suite.ts';

/** LIVING_SEEDS=20 runs more; a failing seed is in the title of its tests. */
const SEEDS = Array.from({ length: Number(process.env.LIVING_SEEDS ?? 1) }, (_, index) => index + 1);
/** LIVING_DAYS=61 runs a whole life, with its flooded day, in four times the time. */
const DAYS = Number(process.env.LIVING_DAYS ?? 31);

describe.each(SEEDS)('a brand that lives for a month or two, with the end of a month, seed %i,', (seed) => {
  itLives({ seed, days: DAYS, lake: 'memory', ...(DAYS < 61 && { firstDay: '2026-03-16' }) });
});

describe.each(SEEDS)('a brand that lives for two weeks while everything goes wrong, seed %i,', (seed) => {
  itLives({ seed, days: 14, lake: 'memory', hardships, firstDay: '2026-03-22' });
});

describe('a brand that lives for ten days, in a folder', () => {
  itLives({ seed: 100, days: 10, lake: 'folder' });
});
