/** The generated pages of docs/reference are what the code gives today, and each entry of the code is on its page. */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { PAGES } from '../../bench/reference.ts';
import { EXIT } from '../../cli/exit-codes.ts';
import { commands } from '../../cli/program.ts';
import { ERROR_KINDS } from '../../shared/base/errors.ts';
import { EVENTS } from '../../shared/base/log-events.ts';
import { STATUSES } from '../../shared/base/outcome.ts';
import { DAY_STATES, PROBLEM_STATES } from '../../shared/planning/day-state.ts';
import { root, schemas, sectionOf, textOf } from './pages.ts';

function sourcesOf(...folders: readonly string[]): Map<string, string> {
  const paths = folders.flatMap((folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  );
  const texts = paths.filter((path) => path.endsWith('.ts')).map((path) => [path, textOf(path)] as const);
  return new Map(texts);
}

it.each(Object.entries(PAGES))('npm run reference would not change %s.md', async (name, pageFrom) => {
  const page = textOf(`docs/reference/${name}.md`);
  expect(await pageFrom(page)).toBe(page);
});

describe('docs/reference/command-line.md', () => {
  const page = textOf('docs/reference/command-line.md');

  it('has an example of every command, and each exit code', () => {
    for (const name of Object.keys(commands)) expect(page).toContain(`\nbrand-reports ${name}`);
    const exits = [...sectionOf(page, 'Exit codes').matchAll(/^\| `(\d)` \| .+ \|$/gm)].map(
      ([, exit = '']) => exit,
    );
    expect(exits.sort()).toEqual(Object.values(EXIT).map(String).sort());
  });

  it('explains every environment variable that the command line reads', () => {
    const sources = [...sourcesOf('cli', 'shared').values(), textOf('cli/launch.js')].join('\n');
    const read = [...sources.matchAll(/process\.env\.([A-Z_]+)|([A-Z][A-Z_]+)\b[^}\n]*\} = process\.env/g)];
    const names = new Set(read.map(([, member, destructured]) => member ?? destructured ?? ''));
    expect(names).toContain('XDG_CACHE_HOME');
    expect([...names].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('docs/reference/errors.md', () => {
  const page = textOf('docs/reference/errors.md');
  const codes = [...page.matchAll(/^\| `([a-z_8<>]+)` \| .+ \| .+ \|$/gm)].map(([, code = '']) => code);

  it('has each code of shared/base/error-codes.ts once, with its cause and its remedy', () => {
    const names = textOf('shared/base/error-codes.ts').replace(/`http_[^`]*`/, "'http_<status>'");
    const declared = [...names.matchAll(/'([^']+)'/g)].map(([, code = '']) => code);
    expect(declared.length).toBeGreaterThan(100);
    expect(codes.toSorted()).toEqual(declared.toSorted());
  });

  it('has no code that no source throws', () => {
    const sources = sourcesOf('shared', 'cli', 'functions', 'infra', 'sample');
    sources.delete('shared/base/error-codes.ts');
    const all = [...sources.values()].join('\n');
    // Two forms are put together: `http_503`, `unknown_report`.
    const isThrown = (code: string) =>
      all.includes(`'${code}'`) || code === 'http_<status>' || all.includes(`unknown('${code.slice(8)}'`);
    expect(codes.filter((code) => !isThrown(code))).toEqual([]);
  });

  it('has each kind', () => {
    const kinds = [...sectionOf(page, 'Kinds').matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, kind]) => kind);
    expect(kinds).toEqual([...ERROR_KINDS]);
  });
});

describe('docs/reference/schemas', () => {
  const enumsIn = (schema: unknown, path: string): [path: string, words: unknown][] =>
    typeof schema === 'object' && schema !== null
      ? Object.entries(schema).flatMap(([key, value]): [string, unknown][] =>
          key === 'enum' ? [[path, value]] : enumsIn(value, `${path}/${key}`),
        )
      : [];

  it.each<[of: string, place: RegExp, words: readonly string[]]>([
    ['outcomes', /^(sync|rebuild)\b.*\/status$|lastRun.*status$/, STATUSES],
    ['kinds of errors', /\/(error|failure)\/properties\/kind$/, ERROR_KINDS],
    ['states', /^status\b.*\/days\/.*\/state$/, Object.keys(DAY_STATES)],
    ['states that are problems', /\/problems\/.*\/state$/, PROBLEM_STATES],
  ])('has all %s', (_of, place, words) => {
    const enums = [...schemas].flatMap(([name, text]) => enumsIn(JSON.parse(text), name));
    const found = enums.filter(([path]) => place.test(path)).map(([, each]) => each);
    expect(found).not.toEqual([]);
    for (const each of found) expect(each).toEqual([...words]);
  });

  it.each([...schemas])('of %s is on the page, and accepts fields that later versions add', (name, text) => {
    expect(textOf('docs/reference/json-output.md')).toContain(`[${name}.json](schemas/${name}.json)`);
    expect(text).not.toMatch(/"additionalProperties": false/);
  });
});

describe('docs/reference/log-events.md', () => {
  it('has the events of the source, each once and with a meaning', () => {
    const rows = textOf('docs/reference/log-events.md').matchAll(
      /^\| `(\w+)` \| (?:\w+) \| .*\| .{10,} \|$/gm,
    );
    expect([...rows].map(([, name = '']) => name).sort()).toEqual(Object.keys(EVENTS).sort());
  });
});
