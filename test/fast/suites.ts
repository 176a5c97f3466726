import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../fixtures/property-runs.ts';

/*
 * A group loads many fast suites into one copy of the product's modules. Jest otherwise loads, compiles and warms up
 * these modules again for every suite, which takes a third of the time. Within a group a suite restores what it changes,
 * such as `process.env`.
 */

declare global {
  var definitions: { currentDescribeBlock: { children: readonly unknown[] } };
}

/** The folders of each group; the group `rest` has all other suites. */
const FOLDERS = {
  sync: ['sync'],
  lake: ['lake', 'records', 'kernel', 'iceberg', 'history', 'lifecycle'],
  outside: ['adapters', 'service', 'functions', 'sample'],
};

/** Defines the suites of a group, each in a block of its own, so that its hooks apply only to its tests. */
export async function loadSuites(group: keyof typeof FOLDERS | 'rest'): Promise<void> {
  fc.configureGlobal(runs(100));
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = (await readdir(root, { recursive: true })).filter(
    (file) => file.endsWith('.test.ts') && !file.endsWith('.slow.test.ts') && groupOf(file) === group,
  );
  for (const file of files.sort()) await loadSuite(file);
}

function groupOf(file: string): string {
  const [folder = ''] = file.split('/');
  return Object.entries(FOLDERS).find(([, folders]) => folders.includes(folder))?.[0] ?? 'rest';
}

async function loadSuite(file: string): Promise<void> {
  const outside = definitions.currentDescribeBlock;
  let inside = outside;
  describe(file, () => {
    inside = definitions.currentDescribeBlock;
  });
  definitions.currentDescribeBlock = inside;
  try {
    await import(`../${file}`);
    if (inside.children.length === 0) throw new Error('the suite has no test');
  } catch (error) {
    it('is loaded', () => {
      throw error;
    });
  } finally {
    definitions.currentDescribeBlock = outside;
  }
}
