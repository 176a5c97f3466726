export { lookedUpPages } from './fetch-details.ts';
