export {
  lifecycleOfFound,
  isLifecycleCurrent,
  isLifecycleIntact,
  recordLifecycle,
} from './record-lifecycle.ts';
export type { LifecycleContext } from './records.ts';
export { lifecycleShape, lifecycleTables } from './shape.ts';
