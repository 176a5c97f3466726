export { isLifecycleCurrent, recordLifecycle } from './record-lifecycle.ts';
export type { LifecycleContext } from './rules.ts';
export { KEPT_AGES, KEPT_STATES, lifecycleShape, lifecycleTables } from './shape.ts';
