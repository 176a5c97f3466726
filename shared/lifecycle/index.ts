export { KEPT_AGES, KEPT_STATES, lifecycleShape } from './shape.ts';
