/*
 * Writes the generated pages of docs/reference (`npm run reference`).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLinePage } from './reference/command-line.ts';
import { errorsPage } from './reference/errors.ts';
import { jsonOutputPage, schemaFiles } from './reference/json-output.ts';
import { logEventsPage } from './reference/log-events.ts';

/** Every generated page, by its path from the root of the repository. */
export async function referencePages(): Promise<Record<string, string>> {
  return {
    'docs/reference/command-line.md': await commandLinePage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/log-events.md': logEventsPage(),
    'docs/reference/json-output.md': jsonOutputPage(),
    ...schemaFiles(),
  };
}

const file = fileURLToPath(import.meta.url);

if (process.argv[1] === file) {
  for (const [path, text] of Object.entries(await referencePages())) {
    const target = fileURLToPath(new URL(`../${path}`, import.meta.url));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}
