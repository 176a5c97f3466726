import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asBrandReportsError } from '../../shared/base/errors.ts';
import { documented as reports } from '../fixtures/documented-reports.ts';
import { rateMs } from '../../shared/settings/deployment.ts';
import { loadSettings, parseSettings } from '../../shared/settings/settings.ts';
import { refunds } from '../fixtures/sixth-report.ts';

const ACME = {
  baseUrl: 'https://service.example/api/brand',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};

function withBrand(change: object) {
  return { brands: { acme: { ...ACME, ...change } } };
}

function withReport(name: string, change: object) {
  return withBrand({ reports: { [name]: change } });
}

function refusal(input: unknown): string {
  try {
    parseSettings(input, reports);
  } catch (error) {
    const { kind, message } = asBrandReportsError(error);
    expect(kind).toBe('config');
    return message;
  }
  throw new Error('the settings were accepted');
}

describe('settings', () => {
  it('keep the given values', () => {
    const order_list = {
      enabled: false,
      every: '6 hours',
      filters: { publisher_id: '1234', status: 'effective' },
      columns: { amount: 'decimal(18,2)' },
      refresh: [{ untilAgeDays: 1, every: '90 minutes' }],
      key: 'order_ref',
      fields: { state: 'payment_state', commission: ['comm', 'commission.value'], currency: null },
      kinds: ['bonus', 'Extra'],
      states: { words: { Annulled: 'void' } },
    };
    const input = { method: 'GET', firstPage: 0, reports: { order_list: { ...order_list, page_size: 20 } } };
    const settings = parseSettings(withBrand(input), reports);
    const kept = { method: 'GET', firstPage: 0, reports: { order_list: { ...order_list, pageSize: 20 } } };
    expect(settings.brands.acme).toMatchObject(kept);
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
  });

  it('have the start date of the brand for a report without its own, and for lookups the later of both', () => {
    const reportsOf = { clicks_list: { startDate: '2026-04-01' }, order_list: { startDate: '2025-07-01' } };
    const { acme } = parseSettings(
      withBrand({ startDate: '2026-01-01', reports: reportsOf }),
      reports,
    ).brands;
    const starts = Object.values(acme?.reports ?? {}).map(({ startDate }) => startDate);
    expect(starts).toEqual(['2026-04-01', '2026-04-01', '2025-07-01', '2026-01-01', '2026-01-01']);
  });

  it('in the committed cdk.json are of a brand that the demo lacks, because they replace those of a lake', () => {
    const settings = loadSettings(readFileSync('cdk.json', 'utf8'), 'cdk.json', reports);
    // The secret has the name that a deployment expects by default.
    const example = { ...ACME, secretName: undefined };
    expect(settings).toEqual(parseSettings({ brands: { example } }, reports));
  });

  it('are read from a file that contains only the object', () => {
    const text = JSON.stringify({ brands: { acme: ACME } });
    expect(loadSettings(text, 'file', reports)).toEqual(parseSettings({ brands: { acme: ACME } }, reports));
  });

  it.each([
    ['cdk.json has no settings: put them under', '{"app":"node infra/app.ts"}'],
    ['cdk.json is not JSON (line 1 column 20); comments', '{"token": "s3cr3t" x}'],
    [
      'cdk.json has context.brandReports.brands.acme twice (lines 2 and 3): remove one of them',
      '{"context": {"brandReports": {"brands": {\n"acme": {},\n"acme": {}}}}}',
    ],
  ])('are refused with the name of the file: %s', (message, text) => {
    expect(() => loadSettings(text, 'cdk.json', reports)).toThrow(message);
  });

  it.each<[string, unknown]>([
    ['the top level is 7; allowed: an object', 7],
    ['brands is an object; allowed: one brand or more', { brands: {} }],
    ['brands.Acme! is "Acme!"; allowed: lower-case', { brands: { 'Acme!': ACME } }],
    [
      'pagesInflight is unknown; allowed: brands, requestsPerSecond, pagesInFlight, catalogs, deployment',
      { ...withBrand({}), pagesInflight: 3 },
    ],
    [
      'reports.order_lists is unknown; allowed: clicks_list, clicks_detail, order_list, transaction_list, amazon_attribution_report',
      withReport('order_lists', {}),
    ],
    ['clicks_list.key is "id"; allowed: nothing', withReport('clicks_list', { key: 'id' })],
    [
      'filters.status is unknown; allowed: publisher_id, channel_id',
      withReport('clicks_list', { filters: { status: 'new' } }),
    ],
    [
      'filters.status is "neww"; allowed: new, void, effective',
      withReport('order_list', { filters: { status: 'neww' } }),
    ],
    [
      'refresh is a list; allowed: a list with untilAgeDays ascending',
      withReport('order_list', { refresh: [1, 1].map((untilAgeDays) => ({ untilAgeDays, every: 'run' })) }),
    ],
    [
      'refresh.0.every is "0 days"',
      withReport('order_list', { refresh: [{ untilAgeDays: 3, every: '0 days' }] }),
    ],
    [
      'columns.amount is "decimal(2,3)"; allowed: string, bigint',
      withReport('order_list', { columns: { amount: 'decimal(2,3)' } }),
    ],
    [
      'columns._rescued is "_rescued"; allowed: a column in snake_case, and none of _rescued, _synced_at',
      withReport('clicks_list', { columns: { _rescued: 'string' } }),
    ],
    [
      'states.words.Annulled is "voided"; allowed: new, mixed, locked, void, effective, paid',
      withReport('transaction_list', { states: { words: { Annulled: 'voided' } } }),
    ],
    [
      'allowed: amount, commission, currency, state, line_state, kind, publisher_id,',
      withReport('transaction_list', { fields: { comission: 'commission' } }),
    ],
    [
      'allowed: a field of the records, a path such as commission.value, a list of both, or null if there is none',
      withReport('transaction_list', { fields: { amount: "a' OR 1" } }),
    ],
    [
      'fields.amount is a list; allowed: a field of the',
      withReport('order_list', { fields: { amount: [] } }),
    ],
    ['allowed: a text that is not empty, without back', withReport('order_list', { kinds: ["l'\\"] })],
    [
      'brands.acme.reports.clicks_detail.enabled is true; allowed: false, unless clicks_list is enabled',
      withBrand({ reports: { clicks_detail: { enabled: true }, clicks_list: { enabled: false } } }),
    ],
  ])('refuse: %s', (message, input) => {
    expect(refusal(input)).toContain(message);
  });

  it.each<[string, object]>([
    ['credentials belong in the secret that secretName names', { token: 'x' }],
    ['service is missing; allowed: the <SERVICE> of', { service: undefined }],
    ['service is "AC:ME"', { service: 'AC:ME' }],
    ['startDate is "2026-02-30"; allowed: a day of the calendar', { startDate: '2026-02-30' }],
    [
      'baseUrl is "http://service.example/"; allowed: an https address (http on loopback only)',
      { baseUrl: 'http://service.example/' },
    ],
    ['baseUrl is "http://127.0.0.1.example/"', { baseUrl: 'http://127.0.0.1.example/' }],
    ['baseUrl is "https://a.example/?…"', { baseUrl: 'https://a.example/?token=abc' }],
    ['baseUrl is "https://service.example/#"', { baseUrl: 'https://service.example/#' }],
    [
      'timeZone is "BST"; allowed: UTC, or an IANA time zone with area and city, e.g. Europe/Berlin, America/New_York; did you mean Europe/London?',
      { timeZone: 'BST' },
    ],
  ])('refuse for a brand: %s', (message, change) => {
    expect(refusal(withBrand(change))).toContain(message);
  });

  it.each<[string, object]>([
    // CDK's own means, or a prop of the construct, set these.
    ['region is unknown', { region: 'eu-central-1' }],
    ['keepLake is unknown', { keepLake: false }],
    [
      'schedule is "cron(5 6 * * ? *)"; allowed: a rate of 1 to 99999 minutes, hours or days: rate(15 minutes)',
      { schedule: 'cron(5 6 * * ? *)' },
    ],
    [
      'analystRoles.1 is a text of 36 characters; allowed: no role of IAM Identity Center: name the policy in its permission set',
      { analystRoles: ['Analysts', 'AWSReservedSSO_Data_0a1b2c3d4e5f6071'] },
    ],
    ['allowed: a list of names of IAM roles', { analystRoles: ['team/Analysts'] }],
    ['allowed: each role once', { analystRoles: ['A', 'A'] }],
    ['allowed: 10 roles at most', { analystRoles: Array.from({ length: 11 }, (_, n) => `Role${n}`) }],
  ])('refuse for a deployment: %s', (message, deployment) => {
    expect(refusal({ ...withBrand({}), deployment })).toContain(message);
  });

  it('list all problems, one per line', () => {
    const message = refusal({
      brands: { acme: { ...ACME, startDate: 'soon', bogus: 1 } },
      pagesInFlight: 'x',
    });
    expect(message.split('\n').map((line) => line.split(' is ')[0])).toEqual([
      'settings cannot be used:',
      '- brands.acme.startDate',
      '- brands.acme.bogus',
      '- pagesInFlight',
    ]);
  });

  it.each([
    ['token of a brand', withBrand({ token: 'tok-SENSITIVE-1' })],
    ['secret of a brand', withBrand({ secret: 'tok-SENSITIVE-1' })],
    ['credentials', withBrand({ credentials: { token: 'tok-SENSITIVE-1' } })],
    ['secret in place of its name', withBrand({ secretName: '{"token":"tok-SENSITIVE-1"}' })],
    ['token in the address', withBrand({ baseUrl: 'https://a.example/x?token=tok-SENSITIVE-1' })],
    ['password in the address', withBrand({ baseUrl: 'https://u:tok-SENSITIVE-1@a.example/' })],
    ['long digest in any place', withBrand({ timeZone: 'tok-SENSITIVE-10123456789abcdef' })],
  ])('I9: refuse a %s without repeating it', (_name, input) => {
    const message = refusal(input);
    expect(message).not.toContain('SENSITIVE');
    expect(message.split('\n').length).toBe(2);
  });

  it.each([['http://localhost:8080/x'], ['http://127.0.0.1:1/'], ['http://[::1]:9/api?x=1']])(
    'allow http on loopback: %s',
    (baseUrl) => {
      expect(parseSettings(withBrand({ baseUrl }), reports).brands.acme?.baseUrl).toBe(baseUrl);
    },
  );

  it('accept a sixth report from its definition alone', () => {
    const registry = { ...reports, [refunds.name]: refunds };
    const input = withReport('refund_list', { filters: { reason: 'late', store: 3 }, limit: 50, key: 'no' });
    expect(parseSettings(input, registry).brands.acme?.reports.refund_list).toEqual({
      enabled: true,
      startDate: ACME.startDate,
      every: 'run',
      filters: { reason: 'late', store: 3 },
      columns: {},
      fields: {},
      refresh: [{ untilAgeDays: 9, every: '12 hours' }],
      pageSize: 50,
      key: 'no',
    });
    expect(refusal(input)).toContain('refund_list is unknown');
    const sizeOf = (change: object) =>
      parseSettings(withReport(refunds.name, change), registry).brands.acme?.reports.refund_list?.pageSize;
    expect([sizeOf({}), sizeOf({ limit: 500 })]).toEqual([250, 500]);
    expect(() => sizeOf({ limit: 501 })).toThrow('limit is 501; allowed: a whole number from 5 to 500');
  });

  it('are refused as config errors, whatever the input is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        expect(refusal(input)).toMatch(/^settings cannot be used/);
      }),
    );
  });
});

it.each([
  ['rate(15 minutes)', 15 * 60_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 2 * 86_400_000],
])('%s has an interval', (schedule, ms) => {
  expect(rateMs(schedule)).toBe(ms);
});
