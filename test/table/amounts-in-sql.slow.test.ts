import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { typeSpec } from '../../shared/base/column-types.ts';
import { readValue } from '../../shared/table/amounts.ts';
import { AMOUNT } from '../../shared/table/column-facts.ts';
import { amountSql, inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { duckdb, parquetOf } from './parquet-files.ts';

const number = fc
  .tuple(
    fc.constantFrom('', '-', '+', ' '),
    fc.oneof(fc.nat(99_999).map(String), fc.stringMatching(/^\d{0,30}$/)),
    fc.constantFrom(
      '',
      '.',
      ',',
      '.0',
      '.5',
      '.0320000000000003',
      '.999999999',
      '.9999999996',
      '.1234567895',
    ),
    fc.constantFrom('', ' ', 'e2', 'E-3', 'e+19', 'e28', 'e120', 'e', '%'),
  )
  .map((parts) => parts.join(''));
const text = fc.oneof(
  { weight: 9, arbitrary: number },
  fc.string(),
  fc.constantFrom('n/a', '1_000', '٣', 'NaN'),
);

// A run reads amounts before any query exists, and a query reads records of any age, so each needs its own reading.
it('I13: an amount of a ledger is the amount of a view, for 1,000 texts', async () => {
  const texts = fc.sample(text, { numRuns: 1_000, seed: 48 });
  const bytes = await parquetOf(
    [{ name: 'text', type: 'string' }],
    texts.map((each) => ({ text: each })),
  );
  const rows = await duckdb(
    bytes,
    `select cast(${inDuckDb(amountSql('text'))} as varchar) as amount from {file}`,
  );
  const ofLedger = texts.map((each) => {
    const units = readValue(each);
    return {
      text: each,
      amount: units === undefined || units === null ? null : typeSpec(AMOUNT).texts(units)[0],
    };
  });
  expect(rows.map(({ amount }, place) => ({ text: texts[place], amount }))).toEqual(ofLedger);
});
