/**
 * `npm run mutation -- [files]`: StrykerJS changes the code in one place at a time and runs the tests that reach the
 * place. It prints each change that no test notices (a survivor). Only the nearest tests judge a file: a
 * change that only a sync from end to end would notice counts as a survivor. Without arguments it runs all files in
 * turn and prints a table. The command fails if the score is below 85 %.
 */
import { existsSync, globSync } from 'node:fs';
import { Stryker } from '@stryker-mutator/core';

/** Of these, the files that have tests of their own. */
const FILES = globSync([
  'shared/planning/{attempt-decision,day-queries,day-state,due,plan,policy,refused-lookups,transitions}.ts',
  'shared/lake/*.ts',
  'shared/run/lease.ts',
  'shared/table/{columns,typed-columns}.ts',
  'shared/base/{column-types,exact-values}.ts',
  'shared/service/paging/{end-of-pass,page,pages}.ts',
  'shared/service/{envelope,rate-limit,refusal-breaker,request-queue,request,retry,signing-session}.ts',
]).filter((file) => existsSync(`test/${ownTestOf(file)}.test.ts`));

/** Names relative to `test/`. */
const MORE_TESTS: Readonly<Record<string, readonly string[]>> = {
  'shared/planning/due.ts': ['planning/plan'],
  'shared/planning/plan.ts': ['planning/due'],
  'shared/table/typed-columns.ts': ['table/columns'],
  // The records of a page are found by the functions of the envelope.
  'shared/service/envelope.ts': ['service/paging/page'],
  'shared/service/paging/pages.ts': ['service/paging/confirm', 'service/paging/shifts'],
};

function ownTestOf(file: string): string {
  return file.replace('shared/', '').replace('.ts', '');
}

const MIN_PERCENT = 85;

/** How many changes of a file the tests noticed, and how many they missed. */
interface Score {
  file: string;
  killed: number;
  /** Killed changes whose tests did not end. */
  timedOut: number;
  survived: number;
}

async function mutate(file: string): Promise<Score> {
  const tests = [ownTestOf(file), ...(MORE_TESTS[file] ?? [])];
  const stryker = new Stryker({
    mutate: [file],
    testRunner: 'jest',
    plugins: ['@stryker-mutator/jest-runner'],
    jest: {
      config: {
        testMatch: tests.map((name) => `<rootDir>/test/${name}.test.ts`),
        testPathIgnorePatterns: ['\\.slow\\.test\\.ts$'],
        setupFiles: ['<rootDir>/test/mutation/first-counterexample.ts'],
        // A change can make a test wait forever: ending the test costs less than ending its process.
        testTimeout: 8_000,
      },
    },
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // Modules of a suite stay in memory after it.
    maxTestRunnerReuse: 200,
    // On a busy machine a slow test would otherwise count as a test that a change made endless.
    timeoutMS: 12_000,
    tempDirName: 'coverage/mutation',
    // Stryker would rewrite it through the compiler's JavaScript interface, which TypeScript 7 does not have.
    tsconfigFile: 'none',
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    allowConsoleColors: false,
  });
  const results = await stryker.runMutationTest();
  const count = (...states: string[]) => results.filter(({ status }) => states.includes(status)).length;
  return {
    file,
    killed: count('Killed', 'Timeout'),
    timedOut: count('Timeout'),
    survived: count('Survived', 'NoCoverage'),
  };
}

function scored({ file, killed, timedOut, survived }: Score) {
  const mutants = killed + survived;
  return {
    file,
    mutants,
    killed,
    'of these timed out': timedOut,
    survived,
    'score %': Math.floor((1000 * killed) / mutants) / 10,
  };
}

const requested = process.argv.slice(2);
const unknown = requested.find((file) => !FILES.includes(file));
if (unknown !== undefined)
  throw new RangeError(`${unknown} is not one of the files to mutate: ${FILES.join(', ')}`);
const scores: Score[] = [];
const startMs = performance.now();
for (const file of requested.length === 0 ? FILES : requested) scores.push(await mutate(file));

const killed = scores.reduce((sum, score) => sum + score.killed, 0);
const survived = scores.reduce((sum, score) => sum + score.survived, 0);
const timedOut = scores.reduce((sum, score) => sum + score.timedOut, 0);
console.table([...scores, { file: 'total', killed, timedOut, survived }].map(scored));
const seconds = (performance.now() - startMs) / 1000;
console.log(`${Math.round(seconds)} s, ${(seconds / (killed + survived)).toFixed(1)} s a mutant`);
if (100 * killed < MIN_PERCENT * (killed + survived)) process.exitCode = 1;
