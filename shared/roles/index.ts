export {
  LIKE_CURRENCY,
  ROLES,
  type Role,
  type RoleFields,
  WELL_KNOWN,
  comparedName,
  isRole,
  wellKnown,
  words,
} from './names.ts';
export {
  type RoleColumn,
  columnOfField,
  fieldsIn,
  isCurrencyOpen,
  placeOfRole,
  textAt,
  textOf,
} from './resolve.ts';
