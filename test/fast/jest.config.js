import manifest from '../../package.json' with { type: 'json' };

/**
 * Runs the suites whose names do not contain `.slow`, in a few groups: run it while you work. In package.json, a test that
 * reaches `testTimeout` hangs: it leaves room for a machine that is busy with other work. Modules of a suite stay in memory
 * after it. A large worker, or on a busy machine any worker, takes longer to end than the half second that jest waits by default
 * before it kills the worker with a warning: `workerIdleMemoryLimit` and `workerGracefulExitTimeout`.
 */
export default {
  ...manifest.jest,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/fast/*.suites.ts'],
  testEnvironment: '<rootDir>/test/fast/environment.js',
};
