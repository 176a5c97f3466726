export { type FieldEvidence, evidenceOf } from './evidence.ts';
export { ROLES, type Role, type RoleChoice, type RoleFields, chooseRoles } from './choose.ts';
