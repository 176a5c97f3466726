import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { credentialsInVariables, fixedCredentials } from '../../shared/adapters/credentials.ts';
import { OWN_SETTINGS } from '../../shared/adapters/default-settings.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import {
  type Asking,
  type BrandAnswers,
  QUESTIONS,
  ZONE_FLAG,
  askAnswers,
  chooseZone,
  settingsOf,
} from '../../shared/check/answers.ts';
import { hasErrors, judgeBrand } from '../../shared/check/check.ts';
import { sampleBrand } from '../../shared/check/sample.ts';
import { settingsText } from '../../shared/check/settings-text.ts';
import { configError } from '../../shared/errors.ts';
import { reports } from '../../shared/reports/index.ts';
import type { RunOptions } from '../../shared/run/run.ts';
import { readCredentials } from '../../shared/service/credentials.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
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

type InitFlags = Partial<BrandAnswers> & { settings: string; credentials?: string };

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
  const asking: Asking = {
    ...{ given: flags, reports, nowMs: Date.now(), refuse: note },
    ...(questions && { ask: (question) => questions.ask(question, 'visible') }),
  };
  const answers = await askAnswers(asking);
  const { brand, baseUrl } = answers;
  const typed = newFile === undefined ? undefined : await askCredentials(answers, questions);
  const options = await sampleOptions(answers, flags, typed);
  await readCredentials(options.credentials, brand, baseUrl);
  const progress = showProgress();
  const sample = await sampleBrand({ ...options, log: progress.log }, brand).finally(progress.end);
  const judgedWith = (settings: RunOptions['settings']) =>
    judgeBrand({ ...options, settings }, brand, sample);
  if (sample.error) {
    print(`${brandText(judgedWith(options.settings))}\n\nNothing was written.`);
    process.exitCode = EXIT.failed;
    return;
  }
  const inZone = { ...answers, timeZone: await chooseZone(asking, sample) };
  const text = settingsText(inZone, judgedWith(settingsOf(inZone, reports)), Date.now());
  const judged = judgedWith(loadSettings(text, file, reports));
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
async function sampleOptions(
  answers: BrandAnswers,
  flags: InitFlags,
  typed: string | undefined,
): Promise<RunOptions> {
  const settings = settingsOf(answers, reports, 'Your answers');
  const access = await lakeAccess({ lake: DEFAULT_LAKE }, undefined, openLake);
  const { credentials } =
    typed === undefined
      ? await credentialSource({ ...flags, lake: DEFAULT_LAKE }, settings)
      : { credentials: fixedCredentials(typed, 'your answers') };
  return { ...access, settings, reports, credentials, send: sendRequest, scope: {} };
}

function mayBeCommitted(file: string): boolean {
  if (existsSync('.gitignore') && readFileSync('.gitignore', 'utf8').split('\n').includes(file)) return false;
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return true;
    if (folder === dirname(folder)) return false;
  }
}
