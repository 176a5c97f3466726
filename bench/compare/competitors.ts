/** Starts each competitor for the days of a service, and names where it stores the rows. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addDays, daysFrom } from '../../shared/base/days.ts';
import type { Command } from './measure.ts';
import { CREDENTIALS, FIRST_DAY, SERVICE_NAME } from './service-messages.ts';

export interface Task {
  url: string;
  /** An empty folder, or the folder of the run that this run repeats. */
  folder: string;
  days: number;
  /** For each brand. */
  inFlight: number;
  /** Whether ours runs on the last day, so that the last day is open; missing: all days ended long ago. */
  lastIsOpen?: boolean;
  /** The number of brands that have these days, for ours alone; missing: one. */
  brands?: number;
}

export interface Competitor {
  name: string;
  command(task: Task): Promise<Command> | Command;
  /** The Parquet files with the rows, as a glob inside the folder; missing: the competitor stores nothing. */
  rows?: string;
}

/** The bundle that an installed package runs; `npm run bench` builds it first. A checkout runs its sources. */
const commandLine = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const floorProgram = fileURLToPath(new URL('./floor.ts', import.meta.url));
const peersFolder = fileURLToPath(new URL('../peers/', import.meta.url));

/** The command line as an installed package runs it, into a folder as the lake. */
export const ours: Competitor = {
  name: 'ours',
  rows: 'lake/current/transactions/**/*.parquet',
  async command({ url, folder, days, inFlight, lastIsOpen, brands = 1 }) {
    const names = Array.from({ length: brands }, (_, index) => `bench-${index}`);
    const brand = {
      baseUrl: url,
      service: SERVICE_NAME,
      timeZone: 'UTC',
      startDate: FIRST_DAY,
      secretName: 'bench',
    };
    const forEach = <T>(value: T) => Object.fromEntries(names.map((name) => [name, value]));
    const settings = { brands: forEach(brand), requestsPerSecond: 1000, pagesInFlight: inFlight };
    await writeFile(join(folder, 'settings.json'), JSON.stringify(settings));
    await writeFile(join(folder, 'credentials.json'), JSON.stringify(forEach(CREDENTIALS)), { mode: 0o600 });
    const files = [
      ['--settings', join(folder, 'settings.json')],
      ['--credentials', join(folder, 'credentials.json')],
      ['--lake', join(folder, 'lake')],
    ].flat();
    const lastDay = addDays(FIRST_DAY, days - 1);
    const range = ['--from', FIRST_DAY, '--to', lastDay];
    const now = lastIsOpen ? ['--now', `${lastDay}T18:00:00Z`] : [];
    return {
      program: process.execPath,
      args: [commandLine, 'sync', 'transaction_list', ...range, ...now, ...files, '--json'],
    };
  },
};

/** Stores nothing, so it cannot end right or wrong. */
export const floor: Competitor = {
  name: 'floor: fetch + JSON.parse',
  command: ({ url, days, inFlight }) => ({
    program: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', floorProgram, url, FIRST_DAY, `${days}`, `${inFlight}`],
  }),
};

/** @param python of the virtual environment: peers.ts */
export function peersIn(python: string): Competitor[] {
  const peer = (name: string, rows: string, [script = '', ...args]: readonly string[]): Competitor => ({
    name,
    rows,
    command: ({ url, folder, days }) => ({
      program: python,
      args: [join(peersFolder, script), ...args],
      env: { BENCH_URL: url, BENCH_DAYS: daysOf(days), BENCH_FOLDER: folder },
    }),
  });
  const daysOf = (count: number) =>
    daysFrom(FIRST_DAY, addDays(FIRST_DAY, count - 1))
      .map((day) => day.replaceAll('-', ''))
      .join(',');
  return [
    peer('plain script', '*.parquet', ['plain.py']),
    peer('dlt, default', 'out/lake/transactions/*.parquet', ['with_dlt.py', 'default']),
    peer('dlt, tuned', 'out/lake/transactions/*.parquet', ['with_dlt.py', 'tuned']),
  ];
}
