export { publishIceberg, vacuumIceberg } from './publish.ts';
