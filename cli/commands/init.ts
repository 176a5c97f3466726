import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { OWN_CREDENTIALS, OWN_SETTINGS } from '../../shared/adapters/default-settings.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { addDays, dayOf } from '../../shared/base/days.ts';
import { asBrandReportsError, configError } from '../../shared/base/errors.ts';
import { shellWord } from '../../shared/base/shell-word.ts';
import { findingsOf, hasErrors, judgeBrand } from '../../shared/check/check.ts';
import { settingsText } from '../../shared/check/finding.ts';
import { sampleBrand } from '../../shared/check/sample.ts';
import { shownZones, zoneEvidence } from '../../shared/check/zone.ts';
import { reports } from '../../shared/reports/index.ts';
import { readCredentials } from '../../shared/service/credentials.ts';
import { type Settings, loadSettings, parseSettings } from '../../shared/settings/settings.ts';
import { usualName } from '../../shared/settings/time-zone.ts';
import { openQuestions } from '../ask.ts';
import { EXIT } from '../exit-codes.ts';
import { refuseFullPlace, writeNew } from '../new-file.ts';
import { type CliCommand, DEFAULT_LAKE } from '../options.ts';
import { note, print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { showProgress } from '../progress.ts';
import { credentialSource, lakeAccess } from '../run-options.ts';
import { brandText } from './check.ts';

const QUESTIONS = [
  ['baseUrl', '--base-url <url>', "the service's address, with the path of the brand"],
  ['service', '--service <name>', 'the <SERVICE> of the header X-<SERVICE>-DATE'],
  ['brand', '--brand <name>', 'a short name for the brand, e.g. acme'],
] as const;
const ZONE_FLAG = '--time-zone <zone>';
const FLAGS = [
  ...QUESTIONS,
  ['startDate', '--start-date <day>', 'the first day to read, e.g. 2026-01-31 (default: two weeks ago)'],
  ['timeZone', ZONE_FLAG, 'the time zone, e.g. Europe/Berlin (default: the zone that the records prove)'],
] as const;
/** Enough for a first comparison; an earlier day can follow, and takes longer to read. */
const DAYS_BEFORE_TODAY = 14;

type Answers = Record<(typeof FLAGS)[number][0], string>;
type InitFlags = Partial<Answers> & { settings: string; credentials?: string };
/** @param flags what to add to the command if there is no terminal */
type Ask = (question: string, flags: string, shows?: 'visible' | 'hidden') => Promise<string>;

const ALLOWED: Answers = {
  brand: 'acme',
  baseUrl: 'https://example.com/acme',
  service: 'ACME',
  startDate: '2026-01-01',
  timeZone: 'UTC',
};

export function addInit(program: CliCommand): void {
  const command = program
    .command('init')
    .description('write the settings of a brand from what its service shows')
    .option('--settings <file>', 'the file to write, which must not exist', OWN_SETTINGS)
    .takes('credentials');
  for (const [, flag, what] of FLAGS) command.option(flag, what);
  command
    .example('init', 'It prompts for every value that no flag gives.')
    .action(async (flags: InitFlags) => {
      const given = { ...flags };
      const hidden: string[] = [];
      const keep = async () => {
        if (!existsSync(flags.settings)) await keepAnswers(flags, given, hidden);
      };
      const questions = process.stdin.isTTY ? openQuestions(keep) : undefined;
      const ask: Ask = async (question, missing, shows = 'visible') => {
        if (!questions)
          throw configError('no_terminal', `${question}: there is no terminal. Add: ${missing}`);
        const answer = await questions.ask(question, shows);
        if (shows === 'hidden') hidden.push(answer);
        return answer;
      };
      try {
        await init(given, ask);
      } finally {
        questions?.close();
        if (questions) await keep();
      }
    });
}

/** @param given the flags, then also each answer */
async function init(given: InitFlags, ask: Ask): Promise<void> {
  const { settings: file } = given;
  await refuseFullPlace(file);
  const missing = QUESTIONS.filter(([name]) => given[name] === undefined).map(([, flag]) => flag);
  for (const [name, , what] of QUESTIONS)
    given[name] ??= await answerTo(ask, name, `${what[0]?.toUpperCase()}${what.slice(1)}`, missing.join(' '));
  const startDate = addDays(dayOf(Date.now(), 'UTC'), -DAYS_BEFORE_TODAY);
  const answers: Answers = { ...ALLOWED, startDate, ...given };
  const { brand } = answers;
  const settings = settingsOf(answers, 'Your answers');
  const source = await credentialSource({ ...given, lake: DEFAULT_LAKE }, settings).catch(unlessMissing);
  const typed = source ? undefined : await askCredentials(ask, answers);
  const credentials = source?.credentials ?? fixedCredentials(typed ?? '', 'your answers');
  await readCredentials(credentials, brand, answers.baseUrl);
  const progress = showProgress();
  const access = await lakeAccess({ lake: DEFAULT_LAKE }, progress.log, openLake);
  const options = { ...access, settings, reports, credentials, send: sendRequest, scope: {} };
  const sample = await sampleBrand(options, brand).finally(progress.end);
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
  const { fits = [], isProven } = sample.zone ?? {};
  const fitting =
    sample.zone && fits.length > 0
      ? `these fit ${zoneEvidence(sample.zone)}: ${shownZones(fits, '')}`
      : 'no record shows its days';
  given.timeZone ??= isProven
    ? usualName(fits)
    : await answerTo(ask, 'timeZone', `Time zone of the dashboard (${fitting})`, ZONE_FLAG);
  const zoned = { ...answers, ...given };
  const findings = findingsOf(judgedWith(settingsOf(zoned)));
  const text = settingsText(brand, settingsIn(zoned), findings, Date.now());
  const judged = judgedWith(loadSettings(text, file, reports));
  if (typed !== undefined) await writeNew(OWN_CREDENTIALS, typed);
  await writeNew(file, text);
  print(`${brandText(judged)}\n\nWritten: ${file}${typed === undefined ? '' : `, ${OWN_CREDENTIALS}`}`);
  if (typed !== undefined) print(`Keep ${OWN_CREDENTIALS} out of git.`);
  print(`Next: ${printedCommand('check')}`);
  process.exitCode = hasErrors(judged) ? EXIT.failed : EXIT.complete;
}

const settingsIn = ({ baseUrl, service, startDate, timeZone }: Answers) => ({
  ...{ baseUrl, service, startDate, timeZone },
});

/** @throws BrandReportsError `config` that lists the answers which are not allowed */
function settingsOf(answers: Answers, origin?: string): Settings {
  return parseSettings({ brands: { [answers.brand]: settingsIn(answers) } }, reports, origin);
}

/** I9: messages never repeat an answer, because it may be a secret that was pasted too early. */
async function answerTo(ask: Ask, name: keyof Answers, question: string, flags: string): Promise<string> {
  for (;;) {
    const answer = await ask(question, flags);
    try {
      settingsOf({ ...ALLOWED, [name]: answer });
      return answer;
    } catch (thrown) {
      const [, allowed = 'another value'] =
        /allowed: ([^\n]*)/.exec(asBrandReportsError(thrown).message) ?? [];
      note(`Not allowed. Allowed: ${allowed}`);
    }
  }
}

function unlessMissing(thrown: unknown): undefined {
  if (asBrandReportsError(thrown).code !== 'no_credentials') throw thrown;
}

async function askCredentials(ask: Ask, { brand, baseUrl }: Answers): Promise<string> {
  const hidden = (what: string) => ask(`${what} (hidden)`, '--credentials <file>', 'hidden');
  const bid = await hidden('Brand id (bid)');
  const token = await hidden('API token');
  const secret = await hidden('API secret');
  return `${JSON.stringify({ [brand]: { bid, token, secret, baseUrl } }, null, 2)}\n`;
}

/** Keeps the visible answers as a command for the next try. I9: an answer may be a credential that was pasted too early. */
async function keepAnswers(flags: InitFlags, given: InitFlags, hidden: readonly string[]) {
  if (QUESTIONS.every(([name]) => given[name] === flags[name])) return;
  const words = FLAGS.flatMap(([name, flag]) => {
    const { [name]: answer = '' } = given;
    const isLong = name === 'baseUrl' ? answer.includes('?') : answer.length >= 20;
    const isLeftOut = flags[name] === undefined && (isLong || hidden.includes(answer));
    return answer === '' || isLeftOut ? [] : [flag.replace(/ .*/, ''), answer];
  });
  const file = join(dirname(flags.settings), 'init-answers.sh');
  await rm(file, { force: true });
  await writeNew(file, `${printedCommand('init', words)}\n`);
  const again = `sh ${shellWord(file)}`;
  note(`Your answers are in ${file}, without credentials. Correct what was mistyped, then run: ${again}`);
}
