import { describe, expect, it } from '@jest/globals';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import type { BrandMeasurement, ReportMeasurement } from '../../shared/operations/measure-brand.ts';
import { openRoles } from '../../shared/operations/propose-roles.ts';
import { proposedSettings } from '../../shared/operations/propose-settings.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { loadSettings } from '../../shared/settings/settings.ts';

const ANSWERS = {
  brand: 'acme',
  baseUrl: 'https://api.example.com/acme',
  service: 'ACME',
  startDate: '2026-01-01',
  timeZone: 'Europe/Berlin',
};
const NOW = Date.parse('2026-11-25T12:00:00Z');

function proposed(measured: Partial<BrandMeasurement>): { text: string; brand: unknown; defaults: unknown } {
  const text = proposedSettings(ANSWERS, { reports: [], ...measured }, NOW);
  const load = (settings: string) => loadSettings(settings, 'it', reports).brands.acme;
  return {
    text,
    brand: load(text),
    defaults: load(JSON.stringify({ brands: { acme: { ...ANSWERS, brand: undefined } } })),
  };
}

function ordersWith(found: Partial<ReportMeasurement>): BrandMeasurement {
  return { reports: [{ report: orders, sample: [], firstPage: 1, endDate: 'whole_day', ...found }] };
}

const sample = (make: (index: number) => ReportMeasurement['sample'][number]) =>
  Array.from({ length: 30 }, (_, index) => make(index));

function parsed(record: object): JsonObject {
  const value = parseJson(JSON.stringify(record));
  if (!isJsonObject(value)) throw new Error('it is not an object');
  return value;
}

describe('proposed settings', () => {
  it.each<[string, BrandMeasurement, Record<string, string | number>]>([
    [
      'nothing for a service that fits the defaults',
      ordersWith({ timestampUnit: 'seconds', answersInstant: true }),
      {},
    ],
    ['milliseconds', ordersWith({ timestampUnit: 'milliseconds' }), { timestampUnit: 'milliseconds' }],
    ['the first page', ordersWith({ firstPage: 0 }), { firstPage: 0 }],
    ['the end of a range', ordersWith({ answersInstant: false }), { endTime: 'inclusive' }],
    ['the end date', ordersWith({ endDate: 'midnight' }), { endDate: 'midnight' }],
    ['the method', { ...ordersWith({}), method: 'GET' }, { method: 'GET' }],
  ])('contain the settings that the service showed: %s', (_name, measured, differs) => {
    const { brand, defaults, text } = proposed(measured);
    expect(brand).toEqual({ ...Object(defaults), ...differs });
    for (const name of ['pageSize', 'lateMinutes', 'refresh', 'bid']) expect(text).not.toContain(name);
  });

  it.each<[string, Partial<ReportMeasurement>, string]>([
    ['a first page that too few orders show', { firstPage: undefined as never }, '// "firstPage": 0,'],
    [
      'a field that could be the commission',
      { sample: sample((index) => ({ comm: index })) },
      '// "fields": {"commission":"comm"},',
    ],
    [
      'a currency of another name',
      { sample: sample((index) => ({ amount: index, unit: 'EUR' })) },
      '// "fields": {"currency":"unit"},',
    ],
    [
      'a state that the interface does not define',
      { sample: sample((index) => ({ status: index < 20 ? 'Void' : 'Voided' })) },
      '// "states": {"words":{"Voided":"new"}},',
    ],
    [
      'a key of one field',
      { sample: sample((index) => ({ order_no: index, status: 'new' })) },
      '// "key": "order_no",',
    ],
    [
      'a key of two fields',
      { sample: sample((index) => ({ order_id: index % 15, sku: index < 15 ? 'a' : 'b' })) },
      '// "key": ["order_id","sku"],',
    ],
  ])('contain %s only in a comment', (_name, found, line) => {
    const { brand, defaults, text } = proposed(ordersWith(found));
    expect(text).toContain(line);
    expect(brand).toEqual(defaults);
  });

  it('contain no setting that the name of a field or a state would add', () => {
    const hostile = 'commission\n"startDate": "2000-01-01", //\u2028\r';
    const records = sample((index) => ({
      [hostile]: index,
      status: index < 20 ? 'new' : hostile,
      id: `${hostile}${index}`,
    }));
    const { brand, defaults } = proposed(ordersWith({ sample: records }));
    expect(brand).toEqual(defaults);
  });

  it('count a word that the settings map to a state as a state', () => {
    const records = sample((index) => ({ status: index < 2 ? 'Void' : 'Storniert' }));
    const words = { storniert: 'void' };
    const open = (own: object) => openRoles(orders.name, records, { brand: 'acme', ...own });
    expect([open({}), open({ words })].map((roles) => roles.map(({ role }) => role))).toEqual([
      ['state'],
      [],
    ]);
  });

  it.each<[string, object[], object | undefined, string[]]>([
    [
      'a nested amount and its currency',
      [{ commission: { value: '1.20', currency: 'EUR' } }],
      {},
      ['commission.value', 'commission.currency'],
    ],
    [
      'a setting that no record has',
      [{ sale_commission: 1, currency: 'EUR' }],
      { commission: 'comission.value' },
      ['sale_commission'],
    ],
    [
      'nothing for fields with their usual names',
      [{ 'Sale-Commission': '1.5', total: 2, currency: 'usd' }],
      {},
      [],
    ],
    [
      'nothing for fields of the settings',
      [{ comm: 1, unit: 'EUR' }],
      { commission: 'comm', currency: 'unit' },
      [],
    ],
    [
      'another field if values do not fit the usual name',
      [{ commission: 'low', payout: 1, currency: 'EUR' }],
      {},
      ['payout'],
    ],
  ])('propose %s', (_name, records, fields, first) => {
    const open = openRoles(
      'order_list',
      records.map((record) => parsed(record)),
      { brand: 'acme', fields },
    );
    expect(open.map(({ candidates }) => candidates[0])).toEqual(first);
  });
});
