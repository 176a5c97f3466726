import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { credentialsInVariables, fixedCredentials } from '../../shared/adapters/credentials.ts';
import { OWN_SETTINGS } from '../../shared/adapters/default-settings.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { dayOf } from '../../shared/days.ts';
import { asBrandReportsError, configError } from '../../shared/errors.ts';
import { hasErrors, judgeBrand } from '../../shared/operations/connection-test.ts';
import { type BrandMeasurement, measureBrand, zoneEvidence } from '../../shared/operations/measure-brand.ts';
import { type BrandAnswers, proposedSettings, provenZone } from '../../shared/operations/propose-settings.ts';
import { shownZones } from '../../shared/proofs/time-zone.ts';
import { reports } from '../../shared/reports/index.ts';
import type { RunOptions } from '../../shared/run/run.ts';
import { readCredentials } from '../../shared/service/credentials.ts';
import { type Settings, loadSettings, parseSettings } from '../../shared/settings/settings.ts';
import { shellWord } from '../../shared/shell-word.ts';
import { type Questions, openQuestions } from '../ask.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliCommand, DEFAULT_LAKE } from '../options.ts';
import { refuseFullPlace, writeNew } from '../new-file.ts';
import { note, print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showProgress } from '../progress-line.ts';
import { credentialSource, lakeAccess } from '../run-options.ts';
import { brandText } from './check.ts';

type Given = Partial<BrandAnswers>;
type InitFlags = Given & { settings: string; credentials?: string };

/** The questions in their order, with their flags. */
const QUESTIONS = [
  ['baseUrl', '--base-url <url>', "the service's address, with the path of the brand"],
  ['service', '--service <name>', 'the <SERVICE> of the header X-<SERVICE>-DATE'],
  ['brand', '--brand <name>', 'a short name for the brand, e.g. acme'],
  ['startDate', '--start-date <day>', 'the first day to read, e.g. 2026-01-31'],
] as const;
type Question = (typeof QUESTIONS)[number];
const ZONE_FLAG = '--time-zone <zone>';

export function addInit(program: CliCommand): void {
  const command = program
    .command('init')
    .description('write the settings of a brand from what its service shows')
    .option('--settings <file>', 'the file to write, which must not exist', OWN_SETTINGS)
    .takes('credentials');
  for (const [, flag, what] of QUESTIONS) command.option(flag, what);
  command
    .option(ZONE_FLAG, "the brand's time zone, e.g. Europe/Berlin (default: the zone that the records prove)")
    .example('init', 'It prompts for every value that no flag gives.')
    .action(async (flags: InitFlags) => {
      const questions = process.stdin.isTTY ? openQuestions() : undefined;
      try {
        await init(flags, questions);
      } finally {
        questions?.close();
      }
    });
}

async function init(flags: InitFlags, questions: Questions | undefined): Promise<void> {
  const { settings: file } = flags;
  await refuseFullPlace(file);
  const inEnvironment = isInEnvironment(flags.brand);
  const newFile =
    flags.credentials === undefined && !inEnvironment ? join(dirname(file), 'credentials.json') : undefined;
  if (newFile !== undefined) await refuseFullPlace(newFile);
  const answers = await ask(flags, questions);
  const { brand, baseUrl } = answers;
  const typed = newFile === undefined ? undefined : await askCredentials(answers, questions);
  const options = await measureOptions(answers, flags, typed);
  await readCredentials(options.credentials, brand, baseUrl);
  const progress = showProgress();
  const measured = await measureBrand({ ...options, log: progress.log }, brand).finally(progress.end);
  if (measured.error) {
    print(`${brandText(judgeBrand(options, brand, measured))}\n\nNothing was written.`);
    process.exitCode = EXIT.failed;
    return;
  }
  const timeZone = await chooseZone(flags, measured, questions);
  const text = proposedSettings({ ...answers, timeZone }, measured, Date.now());
  const settings = loadSettings(text, file, reports);
  const judged = judgeBrand({ ...options, settings }, brand, measured);
  if (typed !== undefined && newFile !== undefined) await writeNew(newFile, typed);
  await writeNew(file, text);
  print(brandText(judged));
  print(`\nWritten: ${[file, newFile].filter((name) => name !== undefined).join(', ')}`);
  if (newFile !== undefined && mayBeCommitted(newFile))
    print(`Keep the credentials out of git: echo ${shellWord(newFile)} >> .gitignore`);
  const given = {
    ...(newFile !== undefined && { credentials: newFile }),
    ...(file !== OWN_SETTINGS && { settings: file }),
  };
  print(`Next: ${printedCommand('check', [], given)}`);
  process.exitCode = hasErrors(judged) ? EXIT.failed : EXIT.complete;
}

/** I9: messages never repeat an answer, because it may be a secret that was pasted too early. */
async function ask(flags: Given, questions: Questions | undefined): Promise<BrandAnswers> {
  const missing = QUESTIONS.filter(([name]) => flags[name] === undefined).map(([, flag]) => flag);
  if (missing.length > 0 && !questions)
    throw configError('no_terminal', `There is no terminal for questions. Add: ${missing.join(' ')}`);
  const answers: BrandAnswers = { ...PLACEHOLDERS, timeZone: flags.timeZone ?? 'UTC' };
  for (const question of QUESTIONS)
    answers[question[0]] = flags[question[0]] ?? (await askOne(question, questions));
  settingsOf(answers, 'Your answers');
  const problem = startProblem(answers.startDate);
  if (problem !== undefined)
    throw configError('start_date', `The start date ${answers.startDate} is not ${problem}.`);
  return answers;
}

async function askOne([name, , what]: Question, questions: Questions | undefined): Promise<string> {
  for (;;) {
    const answer = (await questions?.ask(`${what[0]?.toUpperCase()}${what.slice(1)}`, 'visible')) ?? '';
    const problem = problemOf(name, answer);
    if (problem === undefined) return answer;
    note(`Not allowed. Allowed: ${problem}`);
  }
}

const PLACEHOLDERS: BrandAnswers = {
  brand: 'acme',
  baseUrl: 'https://example.com/acme',
  service: 'ACME',
  startDate: '2026-01-01',
  timeZone: 'UTC',
};

/** The values that the schema of the settings allows instead of the answer. */
function problemOf(name: keyof BrandAnswers, answer: string): string | undefined {
  try {
    settingsOf({ ...PLACEHOLDERS, [name]: answer });
    return name === 'startDate' ? startProblem(answer) : undefined;
  } catch (thrown) {
    return /allowed: ([^\n]*)/.exec(asBrandReportsError(thrown).message)?.[1] ?? 'another value';
  }
}

function startProblem(startDate: string): string | undefined {
  // The zone in which the day begins first.
  const today = dayOf(Date.now(), 'Pacific/Kiritimati');
  return startDate > today ? `a day up to ${today}` : undefined;
}

/** @throws BrandReportsError `config` that lists the answers which are not allowed */
function settingsOf({ brand, ...settings }: BrandAnswers, origin?: string): Settings {
  return parseSettings({ brands: { [brand]: settings } }, reports, origin);
}

/** @returns the text of a credentials file */
async function askCredentials(
  { brand, baseUrl }: BrandAnswers,
  questions: Questions | undefined,
): Promise<string> {
  if (!questions)
    throw configError(
      'no_terminal',
      'There is no terminal to enter the credentials. Add: --credentials FILE',
    );
  const bid = await questions.ask('Brand id (bid; your input is hidden)', 'hidden');
  const token = await questions.ask('API token (hidden)', 'hidden');
  const secret = await questions.ask('API secret (hidden)', 'hidden');
  return `${JSON.stringify({ [brand]: { bid, token, secret, baseUrl } }, null, 2)}\n`;
}

function isInEnvironment(brand: string | undefined): boolean {
  const { env } = process;
  const own = brand === undefined ? undefined : credentialsInVariables(env, [brand]);
  return Boolean(env.BRAND_REPORTS_CREDENTIALS) || own !== undefined;
}

/** @param typed the text of a credentials file; missing: credentials come from the flags and variables of every command */
async function measureOptions(
  answers: BrandAnswers,
  flags: InitFlags,
  typed: string | undefined,
): Promise<RunOptions> {
  const settings = settingsOf(answers, 'Your answers');
  const access = await lakeAccess({ lake: DEFAULT_LAKE }, undefined, openLake);
  const { credentials } =
    typed === undefined
      ? await credentialSource({ ...flags, lake: DEFAULT_LAKE }, settings)
      : { credentials: fixedCredentials(typed, 'your answers') };
  return { ...access, settings, reports, credentials, send: sendRequest, scope: {} };
}

/** The zone that the records prove, else the zone of the flag, else a person chooses among the zones that fit. */
async function chooseZone(
  { timeZone }: Given,
  measured: BrandMeasurement,
  questions: Questions | undefined,
): Promise<string> {
  const { zone } = measured;
  const proven = provenZone(measured);
  if (timeZone === undefined && proven !== undefined) return proven;
  const fits = zone?.fits.length
    ? `these fit ${zoneEvidence(zone)}: ${shownZones(zone.fits, '')}`
    : 'no record shows its days';
  if (timeZone !== undefined) {
    if (!zone?.fits.length || zone.fits.includes(timeZone)) return timeZone;
    throw configError(
      'time_zone',
      `--time-zone ${timeZone} contradicts the records; ${fits}. Nothing was written.`,
    );
  }
  if (!questions)
    throw configError(
      'time_zone',
      `The records prove no time zone: ${fits}. Add: ${ZONE_FLAG}, as in the dashboard. Nothing was written.`,
    );
  for (;;) {
    const answer = await questions.ask(`Time zone of the dashboard (${fits})`, 'visible');
    const isKnown = problemOf('timeZone', answer) === undefined;
    if (isKnown && (!zone?.fits.length || zone.fits.includes(answer))) return answer;
    note(isKnown ? `It contradicts the records; ${fits}` : 'Allowed: an IANA time zone, e.g. Europe/Berlin');
  }
}

function mayBeCommitted(file: string): boolean {
  if (existsSync('.gitignore') && readFileSync('.gitignore', 'utf8').split('\n').includes(file)) return false;
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return true;
    if (folder === dirname(folder)) return false;
  }
}
