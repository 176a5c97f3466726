import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FUNCTION_ALARMS, REPORT_ALARMS, STACK_ALARMS, alarmsAsMarkdown } from '../../infra/alarm-table.ts';

const PAGE = 'docs/operations.md';
const [BEGIN, END] = ['<!-- alarms: begin -->', '<!-- alarms: end -->'];

describe('the table of alarms', () => {
  it(`is what ${PAGE} shows`, () => {
    const page = readFileSync(new URL(`../../${PAGE}`, import.meta.url), 'utf8');
    const [, afterBegin = ''] = page.split(BEGIN);
    const [shown = ''] = afterBegin.split(END);
    if (shown.trim() === alarmsAsMarkdown()) return;
    throw new Error(
      `${PAGE} does not list the alarms of infra/alarm-table.ts. Put this into it:\n\n` +
        `${BEGIN}\n\n${alarmsAsMarkdown()}\n\n${END}\n`,
    );
  });

  it.each(REPORT_ALARMS.map(({ id, meaning }) => [id, meaning]))(
    'says in %s which brand and report it is about',
    (_id, meaning) => expect(meaning).toContain('<brand> <report>'),
  );

  it('has every id once', () => {
    const ids = [...REPORT_ALARMS, ...FUNCTION_ALARMS, ...STACK_ALARMS].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
