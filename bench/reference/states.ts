/** Fills docs/reference/states.md from the table of states. */
import { EVENTS, FACTS, type Outcome, STATES, TRANSITIONS } from '../../shared/planning/transitions.ts';
import { code, entriesOf, withRows } from './markdown.ts';

export function statesPage(before: string): string {
  let page = before;
  for (const [title, meanings] of Object.entries({ State: STATES, Event: EVENTS, Fact: FACTS }))
    page = withRows(page, `${title}s`, [title, 'Meaning'], () =>
      entriesOf<string, string>(meanings).map(([name, meaning]) => [code(name), meaning]),
    );
  const states = entriesOf(STATES).map(([state]) => state);
  return withRows(page, 'Transitions', ['', ...states.map(code)], () =>
    entriesOf(EVENTS).map(([event]) => [
      code(event),
      ...states.map((state) => cellOf(TRANSITIONS[state][event])),
    ]),
  );
}

function cellOf(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ when, to, keeps }) => {
      const condition = when ? `${when.map((fact) => code(fact)).join(' ')}: ` : '';
      return `${condition}${to}${keeps ? ' (*stays*)' : ''}`;
    })
    .join('<br>');
}
