import { describe, expect, it } from '@jest/globals';
import { recordFindings } from '../../shared/check/record-findings.ts';
import { rolesInSample, timeField } from '../../shared/check/roles.ts';
import { timesOf } from '../../shared/check/zone.ts';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/base/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

function sampleOf(name: string, make: (index: number) => object, own: object = {}) {
  const brand = { baseUrl: 'https://example.com/a', service: 'A', timeZone: 'UTC', startDate: '2026-01-01' };
  const settings = parseSettings({ brands: { acme: { ...brand, reports: { [name]: own } } } }, reports);
  const { [name]: report } = reports;
  const report_settings = settings.brands.acme?.reports[name];
  if (!report || !report_settings) throw new Error(`there is no report ${name}`);
  const records = Array.from({ length: 30 }, (_, index): JsonObject => {
    const record = parseJson(JSON.stringify(make(index)));
    if (!isJsonObject(record)) throw new Error('it is no object');
    return record;
  });
  return [report, report_settings, records] as const;
}

/** By role: the field that the sample shows. */
function fieldsIn(name: string, make: (index: number) => object, fields = {}) {
  const [report, own, records] = sampleOf(name, make, { fields });
  const best = rolesInSample(report, records, own).map(({ role, best: field }) => [role, field]);
  return Object.fromEntries(best.filter(([, field]) => field !== undefined));
}

const one = (index: number, ...values: string[]) => values[index % values.length];
const money = (index: number) => (1000 + 37 * index) / 100;
const ORDER = { commission: 1, amount: 9, currency: 'EUR', status: 'new', publisher_id: 'p', transid: 't' };
const orderWith =
  (changes: (index: number) => object = () => ({})) =>
  (index: number) => ({ ...ORDER, transid: `t${index}`, ...changes(index) });
const found = (level: string, message: RegExp, more = {}) => [
  { level, message: expect.stringMatching(message), ...more },
];

describe('the fields of roles', () => {
  it('are found by name and values: amounts as text, and the id of a line beside the id of its order', () => {
    const make = (index: number) => ({
      ...{ txn_id: `x${index}`, order_no: `O${index >> 1}`, pub: `p${index % 4}` },
      ...{ comm_value: (money(index) / 10).toFixed(2), order_value: money(index).toFixed(2) },
      ...{ item_status: 'locked', orderState: 'mixed' },
    });
    expect(fieldsIn('transaction_list', make)).toEqual({
      ...{ amount: 'order_value', commission: 'comm_value', state: 'orderState', line_state: 'item_status' },
      ...{ publisher_id: 'pub', order_id: 'order_no' },
    });
  });

  it.each<[string, (index: number) => object, Record<string, string>]>([
    [
      'a nested amount and its currency',
      () => ({ commission: { value: '1.20', currency: 'EUR' } }),
      { commission: 'commission.value', currency: 'commission.currency' },
    ],
    [
      'another field if values do not fit the usual name',
      () => ({ commission: 'low', payout: 1 }),
      { commission: 'payout' },
    ],
    ['no rate, no date and no constant', () => ({ commission_rate: 0.1, amount_date: 1, order_id: 7 }), {}],
    [
      'no facts about others',
      (index) => ({
        publisher: { id: `p${index % 3}`, status: 'active', type: 'bonus', currency: 'EUR' },
        ...{ publisherStatus: 'active', payment: { status: 'paid' }, click_ref: `r${index}` },
        customer: { created: '2026-01-02', type: 'normal' },
      }),
      { publisher_id: 'publisher.id' },
    ],
    [
      'an amount of which some cannot be read',
      (index) => ({ comm: index === 3 ? 'n/a' : '1.20' }),
      { commission: 'comm' },
    ],
    ['one role for a field', (index) => ({ order_no: 1_795_000_000 + index }), { order_id: 'order_no' }],
    ['no click that brought the order', (index) => ({ affiliate_ref: `x${index}` }), {}],
    ['no state of a country', (index) => ({ state: one(index, 'CA', 'NY', 'TX') }), {}],
  ])('are found by name and values: %s', (_name, make, fields) => {
    expect(fieldsIn('order_list', make)).toEqual(fields);
  });

  it('are those of the settings, even if the records have better names', () => {
    const fields = { commission: 'comm', currency: null };
    expect(
      fieldsIn(
        'order_list',
        orderWith(() => ({ comm: 2 })),
        fields,
      ),
    ).not.toHaveProperty('commission');
  });

  const renamed = orderWith(() => ({ commission: undefined, comm: 2 }));
  it.each<[string, (index: number) => object, object, object[]]>([
    ['nothing if the names are known', orderWith(), {}, []],
    ['nothing about roles that orders may lack', orderWith(() => ({ currency: undefined })), {}, []],
    [
      'a role without a candidate',
      orderWith(() => ({ commission: undefined })),
      {},
      found(
        'undecided',
        /looks like the commission.*set "fields": \{ "commission": null \} in reports.order_list/,
      ),
    ],
    [
      'a role without a setting',
      renamed,
      {},
      found('undecided', /comm/, {
        setting: { path: ['reports', 'order_list', 'fields', 'commission'], value: 'comm', isCertain: true },
      }),
    ],
    [
      'a field of the settings that no record has, with the field that replaces it',
      renamed,
      { fields: { commission: 'comission' } },
      found('undecided', /none of 30 records has comission/, { setting: { value: ['comission', 'comm'] } }),
    ],
    [
      'two fields that are alike',
      orderWith((index) => ({ sale_commission: index })),
      {},
      found(
        'warning',
        /sale_commission could be the commission too: set "fields": \{ "commission": "commission" \}/,
      ),
    ],
    [
      'a currency of the settings that is no currency',
      orderWith(() => ({ ccy: 'gold' })),
      { fields: { currency: 'ccy' } },
      found('warning', /ccy do not look like the currency/),
    ],
    [
      'amounts that cannot be read, with an example',
      orderWith((index) => ({ commission: index < 20 ? '1.50' : '1,500.25' })),
      {},
      found('undecided', /10 of 30 values of commission cannot be read as an amount, such as "1,500.25"/),
    ],
    [
      'states that the settings do not map',
      orderWith((index) => ({ status: one(index, 'Storniert', 'Offen', 'new') })),
      { states: { words: { storniert: 'void' } } },
      found('warning', /./, { setting: { value: { words: { Offen: 'new' } }, isCertain: false } }),
    ],
    [
      'a kind that counts as a sale',
      orderWith((index) => ({ kind: one(index, 'sale', 'sale', 'gift') })),
      {},
      found('warning', /gift count as sales/, { setting: { isCertain: false } }),
    ],
  ])('lead to findings: %s', (_name, make, own, findings) => {
    const all = recordFindings(...sampleOf('order_list', make, own)).filter(({ level }) => level !== 'ok');
    expect(all).toMatchObject(findings);
    expect(all).toHaveLength(findings.length);
  });
});

describe('the time of a record', () => {
  it.each<[string, Record<string, string | number | null>[], string | undefined]>([
    ['ISO 8601 with a zone', [{ created_at: '2026-11-24T10:00:00+01:00' }], 'created_at'],
    ['an HTTP-date', [{ Created_Time: 'Tue, 24 Nov 2026 10:00:00 GMT' }], 'Created_Time'],
    ['seconds and milliseconds', [{ orderTime: 1_795_000_000 }, { orderTime: '1795000000000' }], 'orderTime'],
    ['the order before the record', [{ created_at: 1_795_000_000, order_time: 1_795_000_000 }], 'order_time'],
    ['empty values are ignored', [{ created_at: 1_795_000_000 }, { created_at: null }, {}], 'created_at'],
    ['no time without a zone', [{ created_at: '2026-11-24 10:00:00' }], undefined],
    ['no date', [{ created_at: '20261124' }], undefined],
    ['no other value', [{ created_at: 1_795_000_000 }, { created_at: 'soon' }], undefined],
    ['no field of an unknown name', [{ seen: 1_795_000_000 }], undefined],
    ['no record', [], undefined],
  ])('is in a field of a known name, if it is an instant: %s', (_name, records, field) => {
    expect(timeField(records)).toBe(field);
    if (field !== undefined)
      for (const ms of timesOf(records, field)) expect(new Date(ms).getUTCFullYear()).toBe(2026);
  });
});
