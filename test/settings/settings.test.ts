import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asBrandReportsError } from '../../shared/base/errors.ts';
import { documented as reports } from '../fixtures/documented-reports.ts';
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
  it('are the same after a round trip through JSON', () => {
    const settings = parseSettings(
      withReport('order_list', { columns: { total: 'decimal(38,9)' } }),
      reports,
    );
    expect(JSON.parse(JSON.stringify(settings))).toEqual(settings);
  });

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
    const { reports: byReport, ...acme } = {
      ...parseSettings(
        withBrand({ method: 'GET', firstPage: 0, reports: { order_list: { ...order_list, page_size: 20 } } }),
        reports,
      ).brands.acme,
    };
    expect(acme).toMatchObject({ method: 'GET', firstPage: 0 });
    expect(byReport?.order_list).toMatchObject({ ...order_list, pageSize: 20 });
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

  it.each([
    ['a file that contains only the object', JSON.stringify({ brands: { acme: ACME } })],
    ['a cdk.json', JSON.stringify({ app: 'x', context: { brandReports: { brands: { acme: ACME } } } })],
  ])('are read from %s', (_name, text) => {
    expect(loadSettings(text, 'file', reports)).toEqual(parseSettings({ brands: { acme: ACME } }, reports));
  });

  it.each([
    ['a cdk.json without settings', '{"app":"node infra/app.ts"}', /cdk\.json has no settings.*brandReports/],
    [
      'text that is not JSON',
      '{"token": "s3cr3t" x}',
      /^cdk\.json is not JSON \(line 1 column 20\); [a-z ]+$/,
    ],
    [
      'a brand twice',
      '{"context": {"brandReports": {"brands": {\n"acme": {},\n"globex": {},\n"acme": {}}}}}',
      'cdk.json has context.brandReports.brands.acme twice (lines 2 and 4): remove one of them',
    ],
  ])('name the file in an error about %s', (_name, text, message) => {
    expect(() => loadSettings(text, 'cdk.json', reports)).toThrow(message);
  });

  it.each<[string, unknown, string]>([
    ['a number in place of the object', 7, 'the top level is 7; allowed: an object'],
    ['no brand', { brands: {} }, 'brands is an object; allowed: one brand or more'],
    [
      'a brand name that is not allowed in paths',
      { brands: { 'Acme!': ACME } },
      'brands.Acme! is "Acme!"; allowed: lower-case',
    ],
    [
      'an unknown key',
      { ...withBrand({}), pagesInflight: 3 },
      'pagesInflight is unknown; allowed: brands, requestsPerSecond, pagesInFlight, catalogs, events, deployment; did you mean pagesInFlight?',
    ],
    [
      'a missing value',
      withBrand({ service: undefined }),
      'brands.acme.service is missing; allowed: the <SERVICE> of',
    ],
    [
      'an unknown report',
      withReport('order_lists', {}),
      'brands.acme.reports.order_lists is unknown; allowed: clicks_list, clicks_detail, order_list, transaction_list, amazon_attribution_report; did you mean order_list?',
    ],
    [
      'a key for a report with a fixed key',
      withReport('clicks_list', { key: 'id' }),
      'brands.acme.reports.clicks_list.key is "id"; allowed: nothing',
    ],
    [
      'an unknown filter',
      withReport('clicks_list', { filters: { status: 'new' } }),
      'filters.status is unknown; allowed: publisher_id, channel_id',
    ],
    [
      'a value outside an enumeration',
      withReport('order_list', { filters: { status: 'neww' } }),
      'brands.acme.reports.order_list.filters.status is "neww"; allowed: new, void, effective; did you mean new?',
    ],
    [
      'an http address',
      withBrand({ baseUrl: 'http://service.example/' }),
      'brands.acme.baseUrl is "http://service.example/"; allowed: an https address (http on loopback only)',
    ],
    [
      'a host that only begins like a loopback host',
      withBrand({ baseUrl: 'http://127.0.0.1.example/' }),
      'baseUrl is',
    ],
    [
      'a routing parameter in the address',
      withBrand({ baseUrl: 'https://a.example/?token=abc' }),
      'baseUrl is "https://a.example/?…"',
    ],
    [
      'an empty fragment',
      withBrand({ baseUrl: 'https://service.example/#' }),
      'baseUrl is "https://service.example/#"',
    ],
    [
      'a service name that a header cannot contain',
      withBrand({ service: 'AC:ME' }),
      'brands.acme.service is "AC:ME"',
    ],
    [
      'an unknown time zone',
      withBrand({ timeZone: 'America/New_Yrok' }),
      'timeZone is "America/New_Yrok"; allowed: UTC, or an IANA time zone with area and city, e.g. Europe/Berlin, America/New_York; did you mean America/New_York?',
    ],
    [
      'an abbreviation that Intl takes for Dhaka',
      withBrand({ timeZone: 'BST' }),
      'timeZone is "BST"; allowed: UTC, or an IANA time zone with area and city, e.g. Europe/Berlin, America/New_York; did you mean Europe/London?',
    ],
    [
      'a day that is not in the calendar',
      withBrand({ startDate: '2026-02-30' }),
      'startDate is "2026-02-30"; allowed: a day of the calendar',
    ],
    [
      'an expression of times',
      { ...withBrand({}), deployment: { schedule: 'cron(5 6 * * ? *)' } },
      'schedule is "cron(5 6 * * ? *)"; allowed: a rate of 1 to 99999 minutes, hours or days: rate(15 minutes)',
    ],
    [
      'a type that a column cannot have',
      withReport('order_list', { columns: { amount: 'decimal(2,3)' } }),
      'columns.amount is "decimal(2,3)"; allowed: string, bigint',
    ],
    [
      'a column that cannot be a field of a record',
      withReport('clicks_list', { columns: { _rescued: 'string' } }),
      'columns._rescued is "_rescued"; allowed: a column in snake_case, and none of _rescued, _synced_at',
    ],
    [
      'tiers out of order',
      withReport('order_list', {
        refresh: [
          { untilAgeDays: 3, every: 'run' },
          { untilAgeDays: 3, every: '1 day' },
        ],
      }),
      'refresh is a list; allowed: a list with untilAgeDays ascending',
    ],
    [
      'an interval of 0',
      withReport('order_list', { refresh: [{ untilAgeDays: 3, every: '0 days' }] }),
      'refresh.0.every is "0 days"',
    ],
    [
      'a word that is mapped to an unknown state',
      withReport('transaction_list', { states: { words: { Annulled: 'voided' } } }),
      'states.words.Annulled is "voided"; allowed: new, mixed, locked, void, effective, paid; did you mean void?',
    ],
    [
      'an unknown role',
      withReport('transaction_list', { fields: { comission: 'commission' } }),
      'allowed: amount, commission, currency, state, line_state, kind, publisher_id,',
    ],
    [
      'a field that would end an SQL literal',
      withReport('transaction_list', { fields: { amount: "a' OR 1" } }),
      'allowed: a field of the records, a path such as commission.value, a list of both, or null if there is none',
    ],
    [
      'details without clicks',
      withBrand({ reports: { clicks_detail: { enabled: true }, clicks_list: { enabled: false } } }),
      'brands.acme.reports.clicks_detail.enabled is true; allowed: false, unless clicks_list is enabled',
    ],
  ])('refuse %s', (_name, input, message) => {
    expect(refusal(input)).toContain(message);
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

  it('I9: name the place for credentials', () => {
    expect(refusal(withBrand({ token: 'x' }))).toContain('credentials belong in the secret');
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
  });

  it('take the bounds and the default of the page size from the report', () => {
    const registry = { ...reports, [refunds.name]: refunds };
    const sizeOf = (change: object) =>
      parseSettings(withReport(refunds.name, change), registry).brands.acme?.reports.refund_list?.pageSize;
    expect([sizeOf({}), sizeOf({ limit: 5 }), sizeOf({ limit: 500 })]).toEqual([250, 5, 500]);
    for (const limit of [4, 501]) {
      expect(() => sizeOf({ limit })).toThrow(`limit is ${limit}; allowed: a whole number from 5 to 500`);
    }
  });

  it('are refused as config errors, whatever the input is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        expect(refusal(input)).toMatch(/^settings cannot be used/);
      }),
    );
  });
});
