import { InvalidArgumentError, Option } from 'commander';
import { isDay, isInstant } from '../shared/days.ts';

// The options that several commands share, each parsed where it is met.

export const DEFAULT_LAKE = './lake';

export const settingsOption = () =>
  new Option('--settings <file>', 'a cdk.json, or a file that holds just the settings').default('cdk.json');

export const environmentOption = () =>
  new Option('--environment <name>', 'with what the settings say for this one of their environments');

export const credentialsOption = () =>
  new Option(
    '--credentials <file>',
    'JSON {"<brand>": {"bid": …, "token": …, "secret": …}}; else BRAND_REPORTS_CREDENTIALS holds that JSON; ' +
      'a lake in S3 without either: Secrets Manager',
  );

export const lakeOption = () =>
  new Option('--lake <lake>', 'a folder or s3://bucket/prefix').default(DEFAULT_LAKE);

export const databaseOption = () =>
  new Option(
    '--database <name>',
    'the Glue database of a lake in S3; without it the ledger alone tells what is current',
  );

export const brandOption = () =>
  new Option('--brand <name>', 'only this brand (default: all of the settings)');

export const nowOption = () =>
  new Option(
    '--now <instant>',
    'what is taken for the present, e.g. 2026-01-31T06:00:00Z; requests are signed with the real time',
  ).argParser(instant);

export const fromOption = (what: string) => new Option('--from <day>', what).argParser(day);

export const toOption = (what: string) => new Option('--to <day>', what).argParser(day);

export const jsonOption = (what: string) => new Option('--json', what);

export function day(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('It is no day of the calendar: use YYYY-MM-DD.');
}

export function month(text: string): string {
  if (isDay(`${text}-01`)) return text;
  throw new InvalidArgumentError('It is no month: use YYYY-MM.');
}

export function seconds(text: string): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (number > 0) return number;
  throw new InvalidArgumentError('Use a number of seconds above 0.');
}

export function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new InvalidArgumentError('Use a port from 0 to 65535; 0 takes any free one.');
}

function instant(text: string): Date {
  if (isInstant(text)) return new Date(text);
  throw new InvalidArgumentError('Use an instant with its zone, such as 2026-01-31T06:00:00Z.');
}
