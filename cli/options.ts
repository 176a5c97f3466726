import { Command, InvalidArgumentError, Option } from 'commander';
import { OWN_SETTINGS, defaultSettings } from '../shared/adapters/default-settings.ts';
import { isDay } from '../shared/base/days.ts';
import { parseInstant } from '../shared/base/exact-values.ts';

export const DEFAULT_LAKE = './lake';

/** An instant in milliseconds since 1970, or the month of a close. */
export type Past = number | string;

/** @returns a parser of an option's text @param allowed ends the message for a text without a value */
function parsed<T>(parse: (text: string) => T | undefined, allowed: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(allowed);
    return value;
  };
}

const dayIn = (text: string) => (isDay(text) ? text : undefined);
const monthIn = (text: string) => (isDay(`${text}-01`) ? text : undefined);
const pastIn = (text: string): Past | undefined => {
  const atMs = parseInstant(text)?.getTime();
  return monthIn(text) ?? (atMs !== undefined && atMs <= Date.now() ? atMs : undefined);
};
const secondsIn = (text: string) =>
  /^\d+(\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
const portIn = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) < 65_536 ? Number(text) : undefined);
const commandIn = (text: string) => (text.trim() === '' ? undefined : text);

export const day = parsed(dayIn, 'Not a day of the calendar. Use YYYY-MM-DD, e.g. 2026-01-31.');
export const month = parsed(monthIn, 'Not a month. Use YYYY-MM, e.g. 2026-01.');
export const seconds = parsed(secondsIn, 'Not a number of seconds. Use a number above 0, e.g. 600.');
export const port = parsed(portIn, 'Not a port. Use 0 to 65535; 0 picks any free port.');
export const command = parsed(
  commandIn,
  'Not a command. Use one for the shell, e.g. "cat >> events.ndjson".',
);
const past = parsed(pastIn, 'Neither a past instant nor a month. Use e.g. 2026-01-31T06:00:00Z or 2026-01.');
const instant = parsed(parseInstant, 'Not an instant with a time zone. Use e.g. 2026-01-31T06:00:00Z.');

/** Options that several commands share. A bad value fails while the command line is parsed, with exit code 2. */
const SHARED = {
  settings: new Option('--settings <file>', 'a cdk.json, or a JSON file of just the settings').default(
    defaultSettings(),
    `${OWN_SETTINGS} if it exists, else cdk.json`,
  ),
  adoptSettings: new Option(
    '--adopt-settings',
    'replace the settings of deployed functions, for all readers',
  ),
  credentials: new Option(
    '--credentials <file>',
    'a JSON file {"<brand>": {"bid": …, "token": …, "secret": …}}, or "aws" for AWS Secrets Manager (default: ' +
      'BRAND_REPORTS_CREDENTIALS in the environment, then credentials.json, then "aws" for S3)',
  ),
  lake: new Option('--lake <lake>', 'a folder or s3://bucket/prefix').default(DEFAULT_LAKE),
  database: new Option(
    '--database <name>',
    'for a lake in S3: the Glue database to publish to (default: none)',
  ),
  brand: new Option('--brand <name>', 'only this brand (default: every brand of the settings)'),
  now: new Option('--now <instant>', 'plan as of an earlier time, e.g. 2026-01-31T06:00:00Z').argParser(
    instant,
  ),
  asOf: new Option(
    '--as-of <time>',
    'the tables as they were: 2026-01-31T06:00:00Z, or a closed month',
  ).argParser(past),
};

/** The values of shared options. A command has only those of the options that it takes. */
export interface SharedFlags {
  settings: string;
  credentials?: string;
  lake: string;
  database?: string;
  brand?: string;
  now?: Date;
  asOf?: Past;
  json?: boolean;
}

export class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  takes(...names: readonly (keyof typeof SHARED)[]): this {
    for (const name of names) this.addOption(SHARED[name]);
    return this;
  }

  /** Ends the help, and errors of the command line. @param examples what follows the name of the program */
  example(examples: string | readonly string[], notes = ''): this {
    const lines = [examples].flat().map((example) => `  $ brand-reports ${example}`);
    const [first = ''] = [examples].flat();
    const next = `Example: npx brand-reports ${first}\nRun it with --help to see what is allowed.`;
    return this.showHelpAfterError(next).addHelpText(
      'after',
      ['', ...(notes ? [notes, ''] : []), 'Example:', ...lines].join('\n'),
    );
  }
}
