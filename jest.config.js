export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: [
    '<rootDir>/cdk.out',
    '<rootDir>/lake',
    '<rootDir>/coverage',
    '<rootDir>/.venv-',
    '<rootDir>/bench/peers/.venv',
  ],
  // A test that reaches it hangs: it leaves room for a machine that is busy with other work.
  testTimeout: 180_000,
  maxWorkers: '100%',
  // Modules of a suite stay in memory after it. A worker of 700 MB takes longer to end than the half second that jest
  // waits before it calls that a leak.
  workerIdleMemoryLimit: '400MB',
};
