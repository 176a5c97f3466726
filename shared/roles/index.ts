export {
  type FieldEvidence,
  IS_KIND,
  type Kind,
  evidenceOf,
  isPlainCurrency,
  noEvidence,
} from './evidence.ts';
export {
  ROLES,
  type Role,
  type RoleChoice,
  type RoleFields,
  chooseRoles,
  comparedName,
  isCurrencyUnclear,
  isRole,
  kindOfRole,
  roleOfName,
  words,
} from './choose.ts';
export { type RoleColumn, columnOfField, columnsNamed, fieldsIn, textAt } from './resolve.ts';
