import everything from './jest.config.js';

/** Runs the suites whose names do not contain `.slow`, in a few groups: run it while you work. */
export default {
  ...everything,
  testMatch: ['<rootDir>/test/fast/*.suites.ts'],
  testEnvironment: '<rootDir>/test/fast/environment.js',
};
