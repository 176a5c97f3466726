import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { versionKey } from '../../shared/lake/paths.ts';
import { fieldSql, amountSql, inDuckDb, textSql } from '../../shared/reports/views/view-sql.ts';
import { duckdb } from '../lake/table/parquet-files.ts';
import { COLUMNS, DAY, lifecycleDay } from './days.ts';

const odd = fc.constantFrom(
  undefined,
  ...[
    '',
    ' 12.50 ',
    '12,50',
    '1.0320000000000003',
    '0.0000000005',
    '-0.0000000005',
    '1e3',
    '1.5E-3',
    '1e-10',
  ],
  ...[
    '+7',
    '-7',
    '--7',
    '1_000',
    '٣',
    '\t5',
    '5\n',
    'n/a',
    '007',
    '12345678901234567890.123456789',
    '.5',
    '-.5',
  ],
  ...[
    '5.',
    '1e',
    'e5',
    '1 000',
    '0x10',
    'NaN',
    'inf',
    '-0',
    '1e40',
    '1.2.3',
    '+ 5',
    '1e+2',
    '1e-400',
    '0e100',
  ],
  ...[
    '.5e1',
    '1e005',
    `${'0'.repeat(40)}1`,
    '123456789012345678901234567890',
    `${'9'.repeat(29)}.9999999999`,
  ],
);
const word = fc.constantFrom(
  undefined,
  '',
  ' ',
  'EUR',
  ' usd',
  'Usd ',
  'paid',
  ' VOID',
  'Bezahlt',
  '4',
  'bonus',
  ' bonus ',
  '\tnew ',
);
const record = fc.record({
  ...{ type: word, publisher_id: word, currency: word, status: word, line: word },
  ...{
    note: odd,
    commission: fc.constantFrom(undefined, 5n, -7_000_000_001n),
    _rescued: fc.constantFrom(undefined, '{"commission":1.0320000000000003}', '{"commission":"x"}'),
  },
});

it.each([
  ['order_list', 'orders', {}],
  ['transaction_list', 'transactions', {}],
  [
    ...(['order_list', 'orders'] as const),
    {
      ...{
        commission: ['note', 'commission'],
        amount: ['commission', 'note'],
        currency: ['currency', 'line'],
      },
      ...{ publisher_id: ['line', 'publisher_id'], state: ['status', 'line'], kind: ['line', 'type'] },
    },
  ],
] as const)(
  'the sums of %s equal the sums of views, by publisher, currency and kind',
  async (report, table, lists) => {
    const roles = {
      fields: {
        commission: 'commission',
        amount: 'note',
        currency: 'currency',
        publisher_id: 'publisher_id',
        state: 'status',
        line_state: 'line',
        ...lists,
      },
      words: { Bezahlt: 'paid', 4: 'void' },
      kinds: ['Bonus', '4'],
    };
    const of = (role: string) => `{${table}.${role}}`;
    const stateSql = fieldSql(table, 'state');
    const sql = `SELECT ${textSql(of('publisher_id'))} AS publisher_id, ${textSql(of('currency'))} AS currency, ${fieldSql(table, 'kind')} AS kind,
    count(*) AS records, CAST(sum(${amountSql(of('commission'))}) AS varchar) AS commission, CAST(sum(${amountSql(of('amount'))}) AS varchar) AS amount,
    ${['commission', 'amount'].map((role) => `CAST(COALESCE(sum(CASE WHEN ${stateSql} IS DISTINCT FROM 'void' THEN ${amountSql(of(role))} END), 0) AS varchar) AS counted_${role}`).join(', ')},
    CASE WHEN count(DISTINCT COALESCE(${stateSql}, '-')) = 1 THEN any_value(${stateSql}) ELSE 'mixed' END AS state
    FROM ${table} GROUP BY 1, 2, 3`;
    const view = viewOver(
      { name: 'v', description: '', columns: [], tables: [table], sql },
      new Map([[table, COLUMNS]]),
      new Map([[table, { acme: roles }]]),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 12 }), async (records) => {
        const day = lifecycleDay({ report });
        const rows = await day.replace({
          at: '2026-02-01T10',
          records: records.map(({ type, ...rest }): Row => ({ ...rest, type, transaction_type: type })),
          roles,
        });
        const version = day.store.objects.get(versionKey(table, 'acme', DAY, day.committed?.snapshot ?? ''));
        const found = await duckdb(
          version?.body ?? new Uint8Array(),
          inDuckDb(view.sql).replace(`FROM ${table}`, `FROM {file}`),
        );
        const text = (value: unknown) => (value === undefined || value === null ? null : String(value));
        const names = ['publisher_id', 'currency', 'kind', 'records', 'state'];
        const amount = (value: unknown) =>
          value === undefined || value === null ? null : BigInt(String(value).replace('.', ''));
        const plain = (all: readonly Record<string, unknown>[]) =>
          all
            .map((row) =>
              [
                ...names.map((name) => text(row[name])),
                ...['commission', 'amount', 'counted_commission', 'counted_amount'].map((name) =>
                  text(amount(row[name])),
                ),
              ].join('|'),
            )
            .sort();
        expect(plain(rows)).toEqual(plain(found));
      }),
      { numRuns: 60 },
    );
  },
);
