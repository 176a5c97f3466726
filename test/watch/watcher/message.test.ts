import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { consoleControls } from '../../../functions/console-controls.ts';
import { changeMessage } from '../../../shared/watch/watcher/message.ts';
import type { Change, OpenProblem } from '../../../shared/watch/watcher/news.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { anyCharacter } from '../../fixtures/texts.ts';

const options = {
  pipeline: 'BrandReports',
  page: 'https://eu-central-1.console.aws.amazon.com/s3/object/lake?region=eu-central-1&prefix=status/coverage.html',
  nowMs: Date.parse('2026-11-20T15:50:07Z'),
  controls: consoleControls('eu-central-1', 'BrandReports'),
};
const FAILED: OpenProblem = {
  id: 'acme order_list failed no_credentials',
  brand: 'acme',
  report: 'order_list',
  table: 'orders',
  what: 'failed',
  days: ['2026-11-18', '2026-11-19'],
  since: '2026-11-19T06:00:00.000Z',
  graceMs: 0,
  why: 'config (no_credentials): the secret brand-reports/acme does not exist',
  remedy: { sentence: 'Fix what the message names, then', start: 'sync' },
};
const SILENT: OpenProblem = {
  ...FAILED,
  id: 'globex clicks_list silent',
  brand: 'globex',
  report: 'clicks_list',
  what: 'no further run has ended',
  days: [],
  why: 'the schedule is off',
  remedy: { sentence: 'Check that the schedule is on' },
};
const SOLVED: Change['solved'][number] = {
  ...{ kind: 'problem', brand: 'acme', report: 'transaction_list' },
  since: '2026-11-18T06:00:00.000Z',
  what: '1 day overdue: 2026-11-17',
};
const LEAVING: typeof SOLVED = {
  ...{ kind: 'problem', brand: 'globex', report: 'order_list' },
  since: '2026-11-18T06:00:00.000Z',
  what: '1 day failed: 2026-11-18',
};

/**
 * Texts that mail programs turn into links, each in its own way: addresses of any scheme, names that begin with `www.` or end with
 * a top-level domain, mail addresses, and shares of Windows.
 */
const LINKS =
  /[a-z][\w+.-]*:\/\/\S*|\b(?:mailto|tel):\S+|\bwww[.。．｡]\S+|[\p{L}\p{N}-][.。．｡](?:com|рф|xn--p1ai)(?![\p{L}\p{N}])\S*|\\\\[\p{L}\p{N}]\S*/giu;

const NOTHING: Change = { opened: [], remaining: [], leaving: [], solved: [] };
const messageOf = (change: Partial<Change>) => changeMessage({ ...NOTHING, ...change }, options);

describe('a message', () => {
  it('lists new, open and solved problems with their time, their reason and what to do', () => {
    const message = messageOf({
      opened: [FAILED],
      remaining: [SILENT],
      leaving: [LEAVING],
      solved: [SOLVED],
    });
    expect(message.subject).toBe('BrandReports: problems: 1 new, 1 solved, 3 open');
    expect(message.text).toBe(`BrandReports, 2026-11-20 15:50 UTC: problems: 1 new, 1 solved, 3 open.

NEW
- acme order_list: 2 days failed: 2026-11-18 to 2026-11-19
  since 2026-11-19 06:00 UTC
  Why: config (no_credentials): the secret brand-reports/acme does not exist
  What to do: Fix what the message names, then: test BrandReports-sync with the event {"brand":"acme"}
  https://eu-central-1.console.aws.amazon.com/lambda/home?region=eu-central-1#/functions/BrandReports-sync?tab=testing

STILL OPEN
- globex clicks_list: no further run has ended
  since 2026-11-19 06:00 UTC
  Why: the schedule is off
  What to do: Check that the schedule is on.

GONE FOR THE FIRST TIME
- globex order_list: 1 day failed: 2026-11-18 (since 2026-11-18 06:00 UTC)

SOLVED
- acme transaction_list: 1 day overdue: 2026-11-17 (since 2026-11-18 06:00 UTC)

All days: ${options.page}
`);
  });

  it('lists findings of one kind together, each day with its figures, and what to do', () => {
    const fell = (day: string, detail: string, hour: number): OpenProblem => ({
      ...FAILED,
      id: `acme order_list rows_fell ${day}`,
      what: 'rows fell',
      days: [day],
      since: `2026-11-20T0${hour}:00:00Z`,
      why: detail,
      remedy: { sentence: 'Compare the day with the dashboard of the brand' },
      finding: { untilMs: 0, isCertain: true },
    });
    const opened = [
      fell('2026-11-18', '90 rows before, 40 now', 7),
      fell('2026-11-17', '120 rows before, 60 now', 6),
      FAILED,
    ];
    const solved = { ...SOLVED, kind: 'finding' as const };
    const reported = fell('2026-11-10', 'reported before', 5);
    const message = messageOf({ opened, remaining: [reported], solved: [solved] });
    expect(message.subject).toBe('BrandReports: problems: 1 new, 1 open; findings: 2 new, 1 solved');
    expect(message.text).toContain(`
FINDINGS
- acme order_list: rows fell on 2 days: 2026-11-17 to 2026-11-18
  since 2026-11-20 06:00 UTC
  Why: 2026-11-18: 90 rows before, 40 now; 2026-11-17: 120 rows before, 60 now
  What to do: Compare the day with the dashboard of the brand.

SOLVED
- acme transaction_list: 1 day overdue: 2026-11-17 (since 2026-11-18 06:00 UTC)
`);
    expect(message.text).not.toContain('reported before');
  });

  const finding = { untilMs: 0, isCertain: true };
  it.each<[string, Partial<Change>, string]>([
    ['the last problem is solved', { solved: [SOLVED] }, 'all is well again'],
    [
      'one problem is solved and another problem is gone for the first time',
      { leaving: [LEAVING], solved: [SOLVED] },
      'problems: 1 solved, 1 open',
    ],
    [
      'the last problem is solved and there is a finding',
      { opened: [{ ...FAILED, finding }], solved: [SOLVED] },
      'all is well again; findings: 1 new',
    ],
    [
      'a finding is gone while a problem is open',
      { remaining: [SILENT], solved: [{ ...SOLVED, kind: 'finding' }] },
      'problems: 1 open; findings: 1 solved',
    ],
  ])('has a headline if %s', (_name, change, headline) => {
    expect(messageOf(change).subject).toBe(`BrandReports: ${headline}`);
  });

  it.each([
    ['half a character of the service', 'before \ud83d after', 'before \ufffd after'],
    ['a character that would be cut in half', `${'x'.repeat(399)}🦊`, `${'x'.repeat(399)}\ufffd…`],
    ['a command, which an event replaces', 'check bid: "brand-reports check" tests them', 'check bid'],
    ['characters that control a screen', 'a\u0000b\u001b[2Jc\u202Ed\u2028e\u200Bf', 'a b [2Jc d e f'],
  ])('is text that can be sent and followed if a reason contains %s', (_name, why, shown) => {
    const { text } = messageOf({ opened: [{ ...FAILED, why }] });
    expect(text).toContain(`  Why: ${shown}\n`);
    expect(() => encodeURIComponent(text)).not.toThrow();
  });

  it.each<[string, string, string]>([
    ['an address', 'see https://evil.example/a?b=c', 'see https[:]//evil[.]example/a?b=c'],
    ['a network share of Windows', String.raw`\\evil\share`, String.raw`[\]\evil\share`],
    ['a bare name', 'evil.example/login', 'evil[.]example/login'],
    ['a name in another script', 'пример.рф и भारत.भारत', 'пример[.]рф и भारत[.]भारत'],
    ['a mail address at a name like a file', 'a@evil.zst a.zst@x', 'a@evil[.]zst a[.]zst@x'],
    [
      'a name that is hidden from a search',
      'evil.\u200Dexample evil\u00AD.example',
      'evil. example evil [.]example',
    ],
  ])('contains no link in text of the service: %s', (_name, written, shown) => {
    const opened = [{ ...FAILED, why: written, what: written, days: [] }];
    const reported = { ...SOLVED, what: written };
    const { text } = messageOf({ opened, leaving: [reported], solved: [reported] });
    expect(text).toContain(`- acme order_list: ${shown}\n`);
    expect(text).toContain(`  Why: ${shown}\n`);
    expect(text.split(`- acme transaction_list: ${shown} (since`)).toHaveLength(3);
  });

  it.each([
    'config (aws_refused): AccessDenied: grant s3:GetObject on arn:aws:s3:::lake/* at 15:50, 1.5 times',
    'ledger/order_list/acme/2026-01.json: days.2026-01-05 is 7; part-0000.parquet, chunk-000000.json-seq.zst',
    "create it: aws secretsmanager create-secret --name 'a' --secret-string file://secret.json",
  ])('leaves our own text as it is, so that it can be pasted: %s', (why) => {
    const { text } = messageOf({ opened: [{ ...FAILED, why }] });
    expect(text).toContain(`  Why: ${why}\n`);
  });

  it('has no link except to the console, whatever a service wrote', () => {
    const words =
      'http https ftp file :// : // \\\\ www . 。 @ mailto: evil com рф xn--p1ai json secret.json ( " [';
    const piece = fc.oneof(
      anyCharacter,
      fc.constantFrom(...words.split(' ')),
      fc.constantFrom(' ', '\u200b', '\u00ad', '\n'),
    );
    const written = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(written, written, (why, what) => {
        const opened = [{ ...FAILED, why, what, days: [] }];
        const reported = { ...SOLVED, what };
        const { text } = messageOf({
          opened,
          remaining: opened,
          leaving: [reported],
          solved: [reported],
        });
        const links = text.replaceAll('file://secret.json', '').match(LINKS) ?? [];
        expect(links.map((link) => new URL(link).hostname)).toEqual(
          Array(3).fill('eu-central-1.console.aws.amazon.com'),
        );
      }),
      runs(500),
    );
  });

  it('fits into SNS, however many problems there are and however long their reasons', () => {
    const opened = Array.from({ length: 5000 }, (_, index) => ({
      ...FAILED,
      id: `${index}`,
      why: '界\n'.repeat(5000),
    }));
    const solved = opened.map(() => SOLVED);
    const { subject, text } = changeMessage(
      { opened, remaining: opened, leaving: solved, solved },
      { ...options, pipeline: 'BrandReports-a-staging-environment' },
    );
    expect(subject).toMatch(/^[ -~]{1,100}$/);
    expect(Buffer.byteLength(text)).toBeLessThan(256_000);
    expect(text).toContain('- and 4970 more');
  });
});
