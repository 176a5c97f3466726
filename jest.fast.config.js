import everything from './jest.config.js';

/** What one runs while working: all but the suites that say in their names that they are slow. */
export default { ...everything, testPathIgnorePatterns: ['/node_modules/', '\\.slow\\.test\\.ts$'] };
