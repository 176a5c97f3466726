/*
 * Writes the generated pages of docs/reference (`npm run reference`).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLinePage } from './reference/command-line.ts';
import { logEventsPage } from './reference/log-events.ts';
import { writeReferenceLake } from './reference/sample.ts';
import { statesPage } from './reference/states.ts';
import { tablesPage } from './reference/tables.ts';
import { withFolder } from './compare/folder.ts';

/** The pages that follow from the code alone, by their paths from the root of the repository. */
export async function referencePages(): Promise<Record<string, string>> {
  return {
    'docs/reference/command-line.md': await commandLinePage(),
    'docs/reference/log-events.md': logEventsPage(),
    'docs/reference/states.md': statesPage(),
  };
}

const file = fileURLToPath(import.meta.url);

if (process.argv[1] === file) {
  const tables = await withFolder(async (folder) => {
    await writeReferenceLake(folder);
    return tablesPage(folder);
  });
  const all = { ...(await referencePages()), 'docs/reference/tables.md': tables };
  for (const [path, text] of Object.entries(all)) {
    const target = fileURLToPath(new URL(`../${path}`, import.meta.url));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}
