/** The page of the findings names each finding and problem of the source, and no other. */
import { describe, expect, it } from '@jest/globals';
import { PROBLEM_STATES } from '../../shared/planning/day-state.ts';
import { reports } from '../../shared/reports/index.ts';
import { textOf } from './pages.ts';

const page = textOf('docs/reference/findings.md');

/** The names in the first column of the tables of a section. */
function namesUnder(heading: string): string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const rows = section.split('\n## ')[0]?.matchAll(/^\| `([\w ]+)` \|/gm) ?? [];
  return [...rows].map(([, name = '']) => name);
}

/** What a pattern finds in a source file. */
function namesIn(path: string, pattern: RegExp): string[] {
  return [...textOf(path).matchAll(pattern)].map(([, name = '']) => name);
}

const TITLED = /^ {2}(\w+): \{\n {4}title:/gm;
const PROBLEMS = 'shared/watcher/open-problems.ts';

describe('the page of the findings has the names of the source', () => {
  it.each<[sections: string[], names: string[]]>([
    [
      ['Findings from comparing readings', 'Findings from fields and keys'],
      [
        ...namesIn('shared/findings/findings.ts', TITLED),
        ...namesIn('shared/findings/role-findings.ts', /check: '(\w+)',/g),
      ],
    ],
    [['Data checks'], Object.values(reports).flatMap(({ checks }) => checks.map(({ name }) => name))],
    [
      ['Problems'],
      [
        ...PROBLEM_STATES,
        ...namesIn(PROBLEMS, /kind: [`'](run failed|\w+)/g),
        ...namesIn(PROBLEMS, /kind: lastRun \? '(\w+)'/g),
        ...namesIn(PROBLEMS, /kind: lastRun \? '\w+' : '(\w+)'/g),
      ],
    ],
  ])('under %j', (sections, names) => {
    expect(names.length).toBeGreaterThan(4);
    expect(new Set(sections.flatMap(namesUnder))).toEqual(new Set(names));
  });
});
