import { describe, expect, it } from '@jest/globals';
import { dbtProject, jinja, yaml } from '../../cli/dbt/project.ts';
import { reports } from '../../shared/reports/index.ts';

/** The text that Jinja renders from a text whose only expressions are braces. */
function rendered(text: string): string {
  return text
    .replaceAll("{{ '{' }}", '\u0000')
    .replaceAll(/\{[{%#]/g, 'steers')
    .replaceAll('\u0000', '{');
}

/** The value that YAML reads in double quotes. */
function unquoted(text: string): string {
  const json = text.replaceAll(/\\U([0-9a-f]{8})/g, (_all, hex: string) =>
    JSON.stringify(String.fromCodePoint(Number.parseInt(hex, 16))).slice(1, -1),
  );
  return JSON.parse(json);
}

const HOSTILE: readonly (readonly [name: string, text: string])[] = [
  ['an expression', "{{ env_var('AWS_SECRET_ACCESS_KEY') }}"],
  ['a statement', '{% do run_query("drop table x") %}'],
  ['a raw block and its end', '{% raw %}{% endraw %}{{ x }}'],
  ['a comment', '{# x'],
  ['braces that meet an escape', "{{{ '{' }}{"],
  ['quotes and backslashes', `"': - [a]\\ \\" # x`],
  ['line ends', 'a\nb\r\u0085\u2028c'],
  ['what steers a terminal', '\u001b[31m\u007f\u009b'],
  ['other letters', 'Umsätze 金額 😀'],
];

describe('a text from outside', () => {
  it.each(HOSTILE)('is only a text in YAML, Jinja and a terminal: %s', (_name, text) => {
    expect(rendered(jinja(text))).toBe(text);
    expect(yaml(text)).toMatch(/^"[\x20-\x7e]*"$/);
    expect(rendered(unquoted(yaml(text)))).toBe(text);
  });
});

function project() {
  const fields = { state: 'status', currency: null };
  return dbtProject({
    reports,
    columns: new Map([['orders', [{ name: 'status', type: 'string', field: 'status' }]]]),
    roles: new Map([['orders', { acme: { fields, words: {} } }]]),
    read: new Set(['order_list']),
    graceHours: 61,
    database: undefined,
  });
}

describe('the project', () => {
  it('names the role of a field and its brand, and expects only the reports that were read to be complete', () => {
    const sources = project().get('models/sources.yml') ?? '';
    expect(sources).toContain('as \\"status\\"; the interface does not document it; role state of acme');
    expect(sources).toMatch(
      /- name: order_states\n.*\n.*columns:\n(?: .*\n)*? +- {name: "key", quote: true, description: "The key/,
    );
    expect(sources).toMatch(/- name: since_close\n[\s\S]*- name: payouts\n/);
    expect(sources.match(/complete_until: \{name/g)).toHaveLength(1);
    expect(project().get('macros/tests.sql')).toContain('grace_hours=61');
  });

  it('has a profile of DuckDB only for a lake in a folder, and no secret', () => {
    const profiles = project().get('profiles.yml') ?? '';
    expect(profiles).toContain('target: athena');
    expect(profiles).not.toMatch(/duckdb|secret|key/i);
  });
});
