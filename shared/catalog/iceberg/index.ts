export { type IcebergChange, publishIceberg, vacuumIceberg } from './publish.ts';
