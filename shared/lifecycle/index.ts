export { foundAgain, isLifecycleCurrent, isLifecycleIntact, recordLifecycle } from './record-lifecycle.ts';
export type { LifecycleContext } from './records.ts';
export { KEPT_AGES, KEPT_STATES, lifecycleShape, lifecycleTables } from './shape.ts';
