import { readFileSync } from 'node:fs';
import { describe, it } from '@jest/globals';
import { ALARMS } from '../../infra/alarms.ts';

const PAGE = 'docs/how-to/react-to-a-message.md';
const [BEGIN, END] = ['<!-- alarms: begin -->', '<!-- alarms: end -->'];

describe('the table of alarms', () => {
  it(`equals the table in ${PAGE}`, () => {
    const page = readFileSync(new URL(`../../${PAGE}`, import.meta.url), 'utf8');
    const [, afterBegin = ''] = page.split(BEGIN);
    const [shown = ''] = afterBegin.split(END);
    if (shown.trim() === alarmsAsMarkdown()) return;
    throw new Error(
      `${PAGE} does not list the alarms of infra/alarms.ts. Put this into it:\n\n` +
        `${BEGIN}\n\n${alarmsAsMarkdown()}\n\n${END}\n`,
    );
  });
});

function alarmsAsMarkdown(): string {
  const rows = Object.entries(ALARMS).map(
    ([id, { meaning, action }]) => `| \`${id}\` | ${markdown(meaning)} | ${markdown(action)} |`,
  );
  return ['| Alarm | What it means | What to do |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Placeholders as code, because Markdown treats `<…>` as HTML, and so are events. */
function markdown(text: string): string {
  return text.replace(/<\w+>|\{\}/g, '`$&`');
}
