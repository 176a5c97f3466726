#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { launch } from './launch.js';

// A checkout runs its sources, so that nobody runs an outdated bundle. An installed package has a bundle and no sources,
// because Node runs no TypeScript below `node_modules`.
const sources = new URL('./main.ts', import.meta.url);
await launch(existsSync(sources) ? sources : new URL('../dist/main.js', import.meta.url));
