import { describe } from '@jest/globals';
import { itLives } from './suite.ts';

/** More by LIVING_SEEDS=20; a failing seed is in the title of its tests. */
const SEEDS = Array.from({ length: Number(process.env.LIVING_SEEDS ?? 1) }, (_, index) => index + 1);

describe.each(SEEDS)('a brand that lives for two months, seed %i,', (seed) => {
  itLives({ seed, days: 61, lake: 'memory' });
});

describe('a brand that lives for two weeks in a folder', () => {
  itLives({ seed: 100, days: 14, lake: 'folder' });
});
