import { addDays, dayOf } from '../base/days.ts';
import { asBrandReportsError, configError } from '../base/errors.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import { type Settings, parseSettings } from '../settings/settings.ts';
import { type BrandSample, zoneEvidence } from './sample.ts';
import { usualName } from '../settings/time-zone.ts';
import { shownZones } from './zone.ts';

export interface BrandAnswers {
  brand: string;
  baseUrl: string;
  service: string;
  startDate: string;
  timeZone: string;
}

export interface Asking {
  /** What the flags give, then also each answer. */
  given: Partial<BrandAnswers>;
  reports: ReportRegistry;
  nowMs: number;
  /** Missing: there is no terminal. */
  ask?: (question: string) => Promise<string>;
  refuse: (why: string) => void;
}

export const QUESTIONS = [
  ['baseUrl', '--base-url <url>', "the service's address, with the path of the brand"],
  ['service', '--service <name>', 'the <SERVICE> of the header X-<SERVICE>-DATE'],
  ['brand', '--brand <name>', 'a short name for the brand, e.g. acme'],
] as const;
export const ZONE_FLAG = '--time-zone <zone>';
export const START_FLAG = '--start-date <day>';
/** Enough for a first comparison; an earlier day can follow, and takes longer to read. */
const DAYS_BEFORE_TODAY = 14;

const ALLOWED: BrandAnswers = {
  brand: 'acme',
  baseUrl: 'https://example.com/acme',
  service: 'ACME',
  startDate: '2026-01-01',
  timeZone: 'UTC',
};

/** I9: messages never repeat an answer, because it may be a secret that was pasted too early. */
export async function askAnswers(asking: Asking): Promise<BrandAnswers> {
  const { given, reports, nowMs, ask } = asking;
  const missing = QUESTIONS.filter(([name]) => given[name] === undefined).map(([, flag]) => flag);
  if (missing.length > 0 && !ask)
    throw configError('no_terminal', `There is no terminal for questions. Add: ${missing.join(' ')}`);
  const { startDate = addDays(dayOf(nowMs, 'UTC'), -DAYS_BEFORE_TODAY), timeZone = 'UTC' } = given;
  const answers: BrandAnswers = { ...ALLOWED, startDate, timeZone };
  for (const [name, , what] of QUESTIONS)
    answers[name] = given[name] ??= await askOne(asking, name, `${what[0]?.toUpperCase()}${what.slice(1)}`);
  settingsOf(answers, reports, 'Your answers');
  // The zone in which the day begins first.
  const latest = dayOf(nowMs, 'Pacific/Kiritimati');
  if (startDate > latest)
    throw configError('start_date', `The start date ${startDate} is not a day up to ${latest}.`);
  return answers;
}

async function askOne(asking: Asking, name: keyof BrandAnswers, question: string): Promise<string> {
  for (;;) {
    const answer = (await asking.ask?.(question)) ?? '';
    const problem = problemOf(asking, name, answer);
    if (problem === undefined) return answer;
    asking.refuse(`Not allowed. Allowed: ${problem}`);
  }
}

function problemOf({ reports }: Asking, name: keyof BrandAnswers, answer: string): string | undefined {
  try {
    settingsOf({ ...ALLOWED, [name]: answer }, reports);
    return undefined;
  } catch (thrown) {
    return /allowed: ([^\n]*)/.exec(asBrandReportsError(thrown).message)?.[1] ?? 'another value';
  }
}

/** @throws BrandReportsError `config` that lists the answers which are not allowed */
export function settingsOf(
  { brand, ...settings }: BrandAnswers,
  reports: ReportRegistry,
  origin?: string,
): Settings {
  return parseSettings({ brands: { [brand]: settings } }, reports, origin);
}

/** The zone of the flag, else the zone that the records prove, else a person chooses among the zones that fit. */
export async function chooseZone(asking: Asking, { zone }: BrandSample): Promise<string> {
  const { given, ask, refuse } = asking;
  const fits = zone?.fits ?? [];
  const shown =
    zone && fits.length > 0
      ? `these fit ${zoneEvidence(zone)}: ${shownZones(fits, '')}`
      : 'no record shows its days';
  const contradicts = (answer: string) => fits.length > 0 && !fits.includes(answer);
  const { timeZone = zone?.isProven ? usualName(fits) : undefined } = given;
  if (timeZone !== undefined && !contradicts(timeZone)) return timeZone;
  const refusal =
    timeZone === undefined
      ? `The records prove no time zone: ${shown}. Add: ${ZONE_FLAG}, as in the dashboard.`
      : `--time-zone ${timeZone} contradicts the records; ${shown}.`;
  if (timeZone !== undefined || !ask) throw configError('time_zone', `${refusal} No settings were written.`);
  for (;;) {
    const answer = await askOne(asking, 'timeZone', `Time zone of the dashboard (${shown})`);
    if (!contradicts(answer)) return answer;
    refuse(`It contradicts the records; ${shown}`);
  }
}
