import * as z from 'zod/mini';
import type { Json } from '../../json.ts';
import type { ReportDefinition } from '../../reports/definition.ts';
import { ROLES } from '../../roles/index.ts';
import { rolesKey } from '../paths.ts';
import { damagedDocument, parseDocument, storedObject } from './cas-document.ts';

const field = z.string().check(z.minLength(1), z.maxLength(500), z.regex(/^[^'"\\]*$/));
export const brandRoles = storedObject(() => ({
  fields: z.partialRecord(z.enum(ROLES), z.nullable(z.union([field, z.array(field)]))),
  words: z.record(field, z.string().check(z.regex(/^[a-z]{1,20}$/))),
  /** Missing: the words of the interface. */
  kinds: z.optional(z.array(field)),
}));

/** `schema/<table>.roles.json` */
const roles = storedObject(() => ({
  version: z.literal(1),
  table: z.string(),
  brands: z.record(z.string().check(z.regex(/^[a-z0-9][a-z0-9-]{0,40}$/)), brandRoles),
  recentWrites: z.array(z.string()),
}));

/**
 * The settings `fields` and `states.words` of a brand's last run. With them, views are right for every brand, and for queries
 * without settings.
 */
export type BrandRoles = z.infer<typeof brandRoles>;
/** The roles of a table, by brand. */
export type StoredRoles = z.infer<typeof roles>;

/** The part of a report's settings that decides what its fields mean. */
export function rolesOfSettings({
  fields,
  states,
  kinds,
}: Pick<BrandRoles, 'fields' | 'kinds'> & { states?: Pick<BrandRoles, 'words'> | undefined }): BrandRoles {
  return { fields, words: states?.words ?? {}, ...(kinds && { kinds }) };
}

/** Reads the stored roles of a report's table. @throws BrandReportsError `config` `damaged_document` */
export function parseStoredRoles({ table }: Pick<ReportDefinition, 'table'>) {
  const key = rolesKey(table);
  return (stored: Json | undefined): StoredRoles => {
    if (stored === undefined) return { version: 1, table, brands: {}, recentWrites: [] };
    const parsed = parseDocument(roles, key, stored);
    if (parsed.table !== table) throw damagedDocument(key, `it has the roles of ${parsed.table}`);
    return parsed;
  };
}
