import { describe } from '@jest/globals';
import { hardships } from './months.ts';
import { itLives } from './suite.ts';

/** LIVING_SEEDS=20 runs more; a failing seed is in the title of its tests. */
const SEEDS = Array.from({ length: Number(process.env.LIVING_SEEDS ?? 1) }, (_, index) => index + 1);

describe.each(SEEDS)('a brand that lives for two months, seed %i,', (seed) => {
  itLives({ seed, days: 61, lake: 'memory' });
});

describe.each(SEEDS)('a brand that lives for two weeks while everything goes wrong, seed %i,', (seed) => {
  itLives({ seed, days: 14, lake: 'memory', hardships, firstDay: '2026-03-22' });
});

describe('a brand that lives for ten days, in a folder', () => {
  itLives({ seed: 100, days: 10, lake: 'folder' });
});
