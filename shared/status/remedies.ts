import type { ErrorKind } from '../errors.ts';
import { type GivenFlags, commandLine } from '../command-line.ts';
import { type Html, copyable } from './html.ts';
import type { ProblemState } from '../planning/day-state.ts';

export interface Remedy {
  sentence: string;
  start?: 'sync' | 'check';
}

/** How a reader of the calendar, or of a message, starts an action: by a command, or in a console. */
export interface Controls<Text = Html> {
  sync(reports: readonly string[], brand: string): Text;
  check(reports: readonly string[], brand: string): Text;
}

/** Actions as command lines, with the same flags as the calendar itself. */
export function commandControls(flags: GivenFlags & { lake: string }): Controls {
  const database = flags.lake.startsWith('s3://') ? 'NAME' : undefined;
  const command = (name: string, words: readonly string[], brand: string) =>
    copyable(commandLine(name, [...words, '--brand', brand], { ...flags, database }));
  return {
    sync: (reports, brand) => command('sync', reports, brand),
    check: (_reports, brand) => command('check', [], brand),
  };
}

/** @param failure the error of days that failed */
export function remedyOf(state: ProblemState, failure: ErrorKind | undefined): Remedy {
  switch (state) {
    case 'failed':
      return remedyOfFailure(failure);
    case 'missing':
      return { sentence: 'The next runs read the missing days. To read them now', start: 'sync' };
    case 'overdue':
      return {
        sentence: 'Runs should have read these days again. Check that the schedule is on. To read them now',
        start: 'sync',
      };
    case 'unverified':
      return {
        sentence:
          'The report has never returned a record. Either there are none, or a setting is wrong. To find out',
        start: 'check',
      };
    case 'in_progress':
      return { sentence: 'A run is reading these days, or the next run will resume them' };
  }
}

export function remedyOfFailure(kind: ErrorKind | undefined): Remedy {
  const needsOperator = kind === 'config' || kind === 'auth';
  return needsOperator
    ? { sentence: 'Fix what the message names, then', start: 'sync' }
    : { sentence: 'Every run tries again. To try now', start: 'sync' };
}
