export type { TextControls } from './message.ts';
export { counted, rangesText } from './open-problems.ts';
export { watch, type WatchOutcome } from './watch.ts';
