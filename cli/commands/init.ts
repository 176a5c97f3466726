import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { OWN_CREDENTIALS, OWN_SETTINGS } from '../../shared/adapters/default-settings.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import {
  type Asking,
  type BrandAnswers,
  QUESTIONS,
  START_FLAG,
  ZONE_FLAG,
  askAnswers,
  chooseZone,
  settingsOf,
} from '../../shared/check/answers.ts';
import { hasErrors, judgeBrand } from '../../shared/check/check.ts';
import { sampleBrand } from '../../shared/check/sample.ts';
import { settingsText } from '../../shared/check/settings-text.ts';
import { configError } from '../../shared/base/errors.ts';
import { reports } from '../../shared/reports/index.ts';
import type { RunOptions } from '../../shared/run/run.ts';
import { readCredentials } from '../../shared/service/credentials.ts';
import { type Settings, loadSettings } from '../../shared/settings/settings.ts';
import { shellWord } from '../../shared/base/shell-word.ts';
import { openQuestions } from '../ask.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliCommand, DEFAULT_LAKE } from '../options.ts';
import { refuseFullPlace, writeNew } from '../new-file.ts';
import { note, print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showProgress } from '../progress.ts';
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
    .option(START_FLAG, 'the first day to read, e.g. 2026-01-31 (default: two weeks ago)')
    .option(ZONE_FLAG, "the brand's time zone, e.g. Europe/Berlin (default: the zone that the records prove)")
    .example('init', 'It prompts for every value that no flag gives.')
    .action(async (flags: InitFlags) => {
      const hidden: string[] = [];
      const keep = async () => {
        if (!existsSync(flags.settings)) await keepAnswers(flags, asking.given, hidden);
      };
      const questions = process.stdin.isTTY ? openQuestions(keep) : undefined;
      const asking: Asking = {
        ...{ given: { ...flags }, reports, nowMs: Date.now(), refuse: note },
        ask: questions && ((question) => questions.ask(question, 'visible')),
      };
      try {
        await init(flags, asking, async (question) => {
          if (!questions) throw configError('no_terminal', 'Without a terminal, add --credentials FILE.');
          hidden.push(await questions.ask(question, 'hidden'));
          return hidden.at(-1) ?? '';
        });
      } finally {
        questions?.close();
        if (questions) await keep();
      }
    });
}

async function init(
  flags: InitFlags,
  asking: Asking,
  askHidden: (question: string) => Promise<string>,
): Promise<void> {
  const { settings: file } = flags;
  await refuseFullPlace(file);
  const { BRAND_REPORTS_CREDENTIALS: inline } = process.env;
  const isInEnvironment = Boolean(inline);
  const beside = join(dirname(file), OWN_CREDENTIALS);
  const given = flags.credentials ?? (!isInEnvironment && existsSync(beside) ? beside : undefined);
  const newFile = isInEnvironment || given !== undefined ? undefined : beside;
  const answers = await askAnswers(asking);
  const { brand, baseUrl } = answers;
  const typed = newFile === undefined ? undefined : await askCredentials(answers, askHidden);
  const settings = settingsOf(answers, reports, 'Your answers');
  const { credentials } =
    typed === undefined
      ? await credentialSource({ credentials: given, lake: DEFAULT_LAKE }, settings)
      : { credentials: fixedCredentials(typed, 'your answers') };
  const access = await lakeAccess({ lake: DEFAULT_LAKE }, undefined, openLake);
  const options: RunOptions = { ...access, settings, reports, credentials, send: sendRequest, scope: {} };
  await readCredentials(options.credentials, brand, baseUrl);
  const progress = showProgress();
  const sample = await sampleBrand({ ...options, log: progress.log }, brand).finally(progress.end);
  const judgedWith = (tried: Settings) => judgeBrand({ ...options, settings: tried }, brand, sample);
  if (sample.error) {
    const { kind, code } = sample.error;
    const suspects =
      kind === 'auth' || code === 'service_code'
        ? 'the brand id, the token, the secret, or the <SERVICE> of the headers'
        : "the service's address";
    print(`${brandText(judgedWith(settings))}\n\nNo settings were written. Perhaps mistyped: ${suspects}.`);
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
  if (newFile !== undefined) print(`Keep ${newFile} out of git.`);
  const named = newFile ?? given;
  print(`Next: ${printedCommand('check', [], named === OWN_CREDENTIALS ? {} : { credentials: named })}`);
  process.exitCode = hasErrors(judged) ? EXIT.failed : EXIT.complete;
}

async function askCredentials(
  { brand, baseUrl }: BrandAnswers,
  ask: (question: string) => Promise<string>,
): Promise<string> {
  const bid = await ask('Brand id (bid; your input is hidden)');
  const token = await ask('API token (hidden)');
  const secret = await ask('API secret (hidden)');
  return `${JSON.stringify({ [brand]: { bid, token, secret, baseUrl } }, null, 2)}\n`;
}

/** Keeps the visible answers as a command for the next try. I9: an answer may be a credential that was pasted too early. */
async function keepAnswers(flags: InitFlags, given: Partial<BrandAnswers>, hidden: readonly string[]) {
  if (QUESTIONS.every(([name]) => given[name] === flags[name])) return;
  const words = [...QUESTIONS, ['startDate', START_FLAG] as const, ['timeZone', ZONE_FLAG] as const].flatMap(
    ([name, flag]) => {
      const { [name]: answer = '' } = given;
      const isLong = name === 'baseUrl' ? answer.includes('?') : answer.length >= 20;
      const isLeftOut = flags[name] === undefined && (isLong || hidden.includes(answer));
      return answer === '' || isLeftOut ? [] : [flag.replace(/ .*/, ''), answer];
    },
  );
  const file = join(dirname(flags.settings), 'init-answers.sh');
  await rm(file, { force: true });
  await writeNew(file, `${printedCommand('init', words)}\n`);
  const again = `sh ${shellWord(file)}`;
  note(`Your answers are in ${file}, without credentials. Correct what was mistyped, then run: ${again}`);
}
