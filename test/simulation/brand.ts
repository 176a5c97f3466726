/**
 * Describes the records of a brand's service over time. A record is a list of versions, so the service's response at
 * any instant follows only from that instant: this is the oracle for the contents of a lake.
 */
import type { JsonObject } from '../../shared/base/json.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';

/** The tables whose records are stored by day; details are stored with their clicks. */
export const heldTables = ['clicks', 'orders', 'transactions', 'attribution'] as const;
export type HeldTable = (typeof heldTables)[number];

/** A version of a record, from an instant on; without `record`, the service has deleted it. */
export interface Version {
  fromMs: number;
  record?: JsonObject;
}

export interface Living {
  /** The instant that decides which ranges of time include the record. */
  atMs: number;
  /** In the order of their time; before the first version the service does not have the record. */
  versions: readonly Version[];
  /** Only for a click. */
  detail?: JsonObject;
}

export interface LivingBrand {
  timeZone: string;
  /** Every day with records, in order. */
  days: readonly string[];
  /** By table and day. */
  held: Readonly<Record<HeldTable, Map<string, readonly Living[]>>>;
}

/** The table where the service stores the records of a report. */
export function heldTable({ table }: Pick<ReportDefinition, 'table'>): HeldTable {
  const held = heldTables.find((one) => one === (table === 'click_details' ? 'clicks' : table));
  if (!held) throw new Error(`the service has no table ${table}`);
  return held;
}

/** A record as the service shows it at an instant. */
export interface Shown {
  living: Living;
  record: JsonObject;
}

/** The records that the service returns for a day of a table at an instant, in the order of their time. */
export function wordAt(brand: LivingBrand, table: HeldTable, day: string, atMs: number): Shown[] {
  return (brand.held[table].get(day) ?? []).flatMap((living) => {
    const record = versionAt(living, atMs)?.record;
    if (!record) return [];
    return [{ living, record }];
  });
}

function versionAt({ versions }: Living, atMs: number): Version | undefined {
  return versions.findLast(({ fromMs }) => fromMs <= atMs);
}
