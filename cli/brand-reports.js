#!/usr/bin/env node
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../launch.js';

// `npm run build` makes a bundle, which starts in two thirds of the time. Where a source is newer, the sources run.
const bundle = new URL('../dist/main.js', import.meta.url);
await launch(isWhole() && isNewest(bundle) ? bundle : new URL('./main.ts', import.meta.url));

/** What is gone, or a link to nothing, as editors leave beside a file that is being edited, is as old as can be. */
function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** A build writes this file last. One that was interrupted leaves files that are newer, and perhaps an empty program. */
function isWhole() {
  const folder = fileURLToPath(new URL('../dist', import.meta.url));
  const ended = timeOf(join(folder, 'built.json'));
  return ended > 0 && readdirSync(folder).every((part) => timeOf(join(folder, part)) <= ended);
}

function isNewest(file) {
  const built = timeOf(file);
  const isOlder = (path) => timeOf(path) <= built;
  return (
    built > 0 &&
    ['package.json', 'cli', 'sample', 'shared'].every((name) => {
      const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
      if (!isOlder(path)) return false;
      return (
        name === 'package.json' ||
        readdirSync(path, { recursive: true }).every((part) => isOlder(join(path, part)))
      );
    })
  );
}
