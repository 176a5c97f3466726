import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { pages } from './pages.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const filesIn = (folder: string, ending: string) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(ending))
    .map((name) => folder + name);

const workflows = filesIn('.github/workflows/', '.yml');
const steps = workflows.flatMap((path) => read(path).split(/^ +- /m));
const used = steps.filter((step) => step.startsWith('uses:'));

describe('the workflow', () => {
  it('uses actions by the commit of a release, which nobody can move', () => {
    expect(used.length).toBeGreaterThan(0);
    for (const step of used) expect(step).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n/);
  });

  it('leaves no token in the checkout, where every package of the tests could read it', () => {
    const checkouts = used.filter((step) => step.includes('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(0);
    for (const step of checkouts) expect(step).toMatch(/\n +persist-credentials: false\n/);
  });

  it('may read the repository and nothing else', () => {
    for (const path of workflows)
      expect(read(path).match(/permissions:\n[^\n]*\n/g)).toEqual(['permissions:\n  contents: read\n']);
  });
});

describe('an installation', () => {
  const commands = [...pages, '.ci/run', 'cli/launch.js', ...workflows]
    .filter((path) => path !== 'CHANGELOG.md')
    .flatMap((path) =>
      [...read(path).matchAll(/npm (?:ci|install)(?=[ `\n])[^`\n]*/g)].map(
        ([command]) => [path, command] as const,
      ),
    );

  it('is described at all', () => {
    expect(commands.length).toBeGreaterThan(2);
  });

  it.each(commands)('as %s has it runs no script of a package: %s', (_path, command) => {
    expect(command).toContain('--ignore-scripts');
  });
});
