export { counted } from './open-problems.ts';
export { watch, type WatchOutcome } from './watch.ts';
