import { loadSuites } from './suites.ts';

await loadSuites('outside');
