import everything from './jest.config.js';

/** What one runs while working: all suites but those that say in their names that they are slow, in a few groups. */
export default {
  ...everything,
  testMatch: ['<rootDir>/test/fast/*.suites.ts'],
  testEnvironment: '<rootDir>/test/fast/environment.js',
};
