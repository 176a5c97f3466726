#!/usr/bin/env node
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../launch.js';

// `npm run build` makes a bundle, which starts in two thirds of the time. Where a source is newer, the sources run.
const bundle = new URL('../dist/main.js', import.meta.url);
await launch(isNewest(bundle) ? bundle : new URL('./main.ts', import.meta.url));

function isNewest(file) {
  const built = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // What is gone, or a link to nothing, as editors leave beside a file that is being edited, is no source.
  const isOlder = (path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) <= built;
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
