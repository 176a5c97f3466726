export { KEPT_AGES, KEPT_STATES, lifecycleShape, lifecycleTables } from './shape.ts';
