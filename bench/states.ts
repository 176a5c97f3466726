/* Prints docs/reference/states.md from the table of states: npm run states */
import { fileURLToPath } from 'node:url';
import {
  EVENTS,
  FACTS,
  MAX_LAST_TRIES,
  type Outcome,
  STATES,
  TRANSITIONS,
} from '../shared/planning/transitions.ts';

/** The page, as Markdown. */
export function statesPage(): string {
  const rows = entriesOf(EVENTS).map(([event]) => {
    const cells = entriesOf(STATES).map(([state]) => cellOf(TRANSITIONS[state][event]));
    return line([`\`${event}\``, ...cells]);
  });
  return [
    '# States of a day',
    '',
    'What becomes of a day by everything that can happen to it. Readings, rollbacks, rebuilds and repairs all ask this table',
    '(`shared/planning/transitions.ts`), and this page is printed from it: `npm run --silent states > docs/reference/states.md`.',
    'Time alone changes no state.',
    '',
    ...listOf('State', STATES),
    ...listOf('Event', EVENTS),
    'A cell names the state that follows. If it depends on facts, the first line whose facts all hold counts. *stays*: the',
    'version stays, although the reading differs from it. *given up*: the day is settled although its last readings failed or',
    `contradicted it, after ${MAX_LAST_TRIES} of them in a row, or because the service has no record of it any more.`,
    '',
    ...listOf('Fact', FACTS),
    line(['', ...entriesOf(STATES).map(([state]) => `\`${state}\``)]),
    line(['---', ...entriesOf(STATES).map(() => '---')]),
    ...rows,
    '',
  ].join('\n');
}

function listOf<Name extends string>(title: string, meanings: Record<Name, string>): string[] {
  const rows = entriesOf(meanings).map(([name, meaning]) => line([`\`${name}\``, meaning]));
  return [line([title, 'Meaning']), line(['---', '---']), ...rows, ''];
}

function cellOf(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ when, to, keeps, givenUp }) => {
      const marks = [givenUp && 'given up', keeps && 'stays'].filter((mark) => typeof mark === 'string');
      const condition = when ? `${when.map((fact) => `\`${fact}\``).join(' ')}: ` : '';
      return `${condition}${to}${marks.length > 0 ? ` (*${marks.join(', ')}*)` : ''}`;
    })
    .join('<br>');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function entriesOf<Name extends string>(record: Readonly<Record<Name, unknown>>) {
  return Object.entries(record) as [Name, string][];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(statesPage());
