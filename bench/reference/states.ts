/** Writes docs/reference/states.md from the table of states. */
import { EVENTS, FACTS, type Outcome, STATES, TRANSITIONS } from '../../shared/planning/transitions.ts';
import { code, entriesOf, tableOf } from './markdown.ts';

/** The page, as Markdown. */
export function statesPage(): string {
  const rows = entriesOf(EVENTS).map(([event]) => {
    const cells = entriesOf(STATES).map(([state]) => cellOf(TRANSITIONS[state][event]));
    return [code(event), ...cells];
  });
  return [
    '# States of a day',
    '',
    'The tables below show every state of a day and what changes it. Readings, rollbacks, rebuilds and restores all follow them.',
    'Time alone changes no state. `coverage` and `status` show other words: `closed` and `unconfirmed` are',
    '`complete` there. [`coverage`](tables.md#coverage) explains these words. `npm run reference` writes this page from `shared/planning/transitions.ts`.',
    '',
    ...listOf('State', STATES),
    ...listOf('Event', EVENTS),
    'In the last table, a row is an event, a column is the state before, and a cell is the state after. If a cell has several',
    'lines, the first line whose facts all hold applies. For example, a day that is `open` and gets a `different` reading becomes',
    '`unconfirmed`, unless one reading suffices (`alone`): then it becomes `settled` after the `last` reading, and `closed` before.',
    '',
    '- **refused**: nothing changes.',
    '- **stays**: the day keeps its version, although the reading differs from it.',
    '',
    ...listOf('Fact', FACTS),
    tableOf(['', ...entriesOf(STATES).map(([state]) => code(state))], rows),
    '',
  ].join('\n');
}

function listOf<Name extends string>(title: string, meanings: Readonly<Record<Name, string>>): string[] {
  const rows = entriesOf<Name, string>(meanings).map(([name, meaning]) => [code(name), meaning]);
  return [tableOf([title, 'Meaning'], rows), ''];
}

function cellOf(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ when, to, keeps }) => {
      const condition = when ? `${when.map((fact) => code(fact)).join(' ')}: ` : '';
      return `${condition}${to}${keeps ? ' (*stays*)' : ''}`;
    })
    .join('<br>');
}
