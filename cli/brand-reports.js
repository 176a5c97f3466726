#!/usr/bin/env node
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../launch.js';

const root = fileURLToPath(new URL('..', import.meta.url));

// `npm run build` makes a bundle, which starts in two thirds of the time. Where a source is newer, the sources run.
await launch(new URL(isUpToDate() ? '../dist/main.js' : './main.ts', import.meta.url));

/** A build writes `built.json` last: one that was interrupted leaves files that are newer, and perhaps an empty program. */
function isUpToDate() {
  const built = timeOf('dist/built.json');
  if (built === 0) return false;
  const sources = ['cli', 'sample', 'shared'].flatMap((folder) => [folder, ...partsOf(folder)]);
  return ['package.json', ...sources, ...partsOf('dist')].every((name) => timeOf(name) <= built);
}

function partsOf(folder) {
  return readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name));
}

/** What is gone, or a link to nothing, as editors leave beside a file that is being edited, is as old as can be. */
function timeOf(name) {
  return statSync(join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
