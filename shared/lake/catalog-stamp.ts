/*
 * The catalog's stamp, `status/catalog.json`, records with which program and settings the catalog was last brought up to
 * date, brand by brand. Without it, every run would compare every partition with its ledger.
 */
import * as z from 'zod/mini';
import { documentParser, storedObject } from './cas-document.ts';

const stamp = storedObject(() => ({
  /** The program's version; missing before the first update. */
  program: z.optional(z.string()),
  views: z.optional(z.string()),
  /** By brand: the hash of the brand's settings with which its partitions were brought up to date. */
  brands: z.record(z.string(), z.string()),
  recentWrites: z.array(z.string()),
}));

export type CatalogStamp = z.infer<typeof stamp>;

export const parseCatalogStamp = documentParser(stamp, { brands: {}, recentWrites: [] });
