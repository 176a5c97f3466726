import { describe } from '@jest/globals';
import { itLives } from './suite.ts';

describe('a brand that lives for ten days', () => {
  itLives({ seed: 1, days: 10, lake: 'memory' });
});
