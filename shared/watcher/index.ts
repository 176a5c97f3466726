export type { TextControls } from './message.ts';
export { counted } from './open-problems.ts';
export { watch, type WatchOutcome } from './watch.ts';
