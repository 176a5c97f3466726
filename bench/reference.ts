/*
 * Fills the generated tables of docs/reference (`npm run reference`).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commandLinePage } from './reference/command-line.ts';
import { logEventsPage } from './reference/log-events.ts';
import { writeReferenceLake } from './reference/sample.ts';
import { statesPage } from './reference/states.ts';
import { tablesPage } from './reference/tables.ts';
import { withFolder } from './compare/folder.ts';

/** The pages that follow from the code alone, by name: each makes the page from the present page. */
export const PAGES: Readonly<Record<string, (before: string) => string | Promise<string>>> = {
  'command-line': commandLinePage,
  'log-events': logEventsPage,
  states: statesPage,
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  await withFolder(async (folder) => {
    await writeReferenceLake(folder);
    const all = { ...PAGES, tables: (before: string) => tablesPage(before, folder) };
    for (const [name, pageFrom] of Object.entries(all)) {
      const path = fileURLToPath(new URL(`../docs/reference/${name}.md`, import.meta.url));
      writeFileSync(path, await pageFrom(readFileSync(path, 'utf8')));
    }
  });
