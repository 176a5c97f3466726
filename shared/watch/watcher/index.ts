export { watch, type WatchOutcome } from './watch.ts';
