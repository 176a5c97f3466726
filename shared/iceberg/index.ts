export { publishIceberg } from './publish.ts';
export { vacuumIceberg } from './vacuum.ts';
