import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import { mayChange, unknownStates } from '../../shared/planning/states.ts';
import { FINAL_STATES, STATE_WORDS } from '../../shared/reports/definition.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { duckdb, parquetOf } from './parquet-files.ts';

const WORDS = { Annulled: 'void', ' open': 'new', RÉGLÉ: 'paid', '4': 'locked', '05': 'paid' };
const KNOWN = [...STATE_WORDS, ...Object.keys(WORDS)];
const text = fc
  .tuple(
    fc.constantFrom('', ' ', '  ', '\t', '\n', '\u00a0'),
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...KNOWN, '4.000000000', '4.0', '5', '', 'İ', 'ß') },
      fc.string(),
    ),
    fc.constantFrom('', ' ', 'x'),
    fc.constantFrom<(text: string) => string>(
      (each) => each,
      (each) => each.toUpperCase(),
      (each) => each.toLowerCase(),
    ),
  )
  .map(([before, word, after, inCase]) => before + inCase(word) + after);

// Plans and findings judge the words that a ledger counts, before any query exists; a view judges records by the settings
// of the query, without a ledger. So both rules must be, and have to agree.
it('I13: the state of a record is the same by its ledger and in a view, for 1,000 texts', async () => {
  const texts = fc.sample(text, { numRuns: 1_000, seed: 48 });
  const fields = { state: 'word' };
  const columns = [{ name: 'word', type: 'string' as const, field: 'word' }];
  const bytes = await parquetOf(
    columns,
    texts.map((word) => ({ word })),
  );
  const { sql } = viewOver(
    { name: 'of', description: '', columns: [], tables: [], sql: 'SELECT {of.state} AS state FROM of' },
    new Map([['of', { columns }]]),
    new Map([['of', { acme: { fields, words: WORDS } }]]),
  );
  const rows = await duckdb(bytes, inDuckDb(sql).replace('FROM of', 'FROM {file}'));
  const ofView = rows.map(({ state }, place) => ({
    text: texts[place],
    isKnown: state === null || STATE_WORDS.includes(String(state)),
    mayChange: !FINAL_STATES.includes(String(state)),
  }));
  const ofLedger = texts.map((word) => {
    const values = { words: { word: { rows: { [word]: 1 } } } };
    const rules = { fields, words: WORDS };
    return {
      text: word,
      isKnown: unknownStates(values, rules).size === 0,
      mayChange: mayChange({ rows: 1, values }, rules),
    };
  });
  expect(ofView).toEqual(ofLedger);
  expect(new Set(ofView.map(({ text: _text, ...each }) => JSON.stringify(each))).size).toBe(3);
});
