import type { Column } from '../column-types.ts';
import { type RecordKey, fieldsOfKey } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { closestMatch } from '../validation/closest-match.ts';

/** A report, with what the settings of a brand say of its key. */
interface KeyedReport {
  report: Pick<ReportDefinition, 'primaryKey' | 'likelyKeys'>;
  settings?: Pick<ReportSettings, 'key'> | undefined;
}

/** What identifies a record of the report: the setting `key`, or the definition's primary key. */
export function primaryKeyField({ report, settings }: KeyedReport): RecordKey | undefined {
  return settings?.key ?? report.primaryKey?.field;
}

/**
 * The keys by which two versions of a day may be compared, the best one first. The first one of which each row of both
 * versions has a value of its own is proven, so a likely key needs no setting.
 * @param isNone whether the primary key was proven to be none
 */
export function comparableKeys(of: KeyedReport, isNone: boolean): RecordKey[] {
  const primary = isNone ? undefined : primaryKeyField(of);
  return [...(primary === undefined ? [] : [primary]), ...(of.report.likelyKeys ?? [])];
}

/** The columns of those of these keys that a table has, the best one first. */
export function keyColumns(of: KeyedReport, columns: readonly Column[], isNone: boolean): Column[][] {
  const columnsOf = (field: string) => columns.find((column) => column.field === field) ?? [];
  return comparableKeys(of, isNone).flatMap((key) => {
    const own = fieldsOfKey(key).flatMap(columnsOf);
    return own.length === fieldsOfKey(key).length ? [own] : [];
  });
}

/** A key for people: `"order_id", "sku"`. */
export function keyText(key: RecordKey): string {
  return fieldsOfKey(key)
    .map((field) => JSON.stringify(field))
    .join(' and ');
}

/** What the records of a reading show of the key that the settings name. */
export interface KeyEvidence {
  records: number;
  /** How many of them have no value of their own. */
  withoutKey: number;
  /** The fields that have a value in some record. */
  fields: readonly string[];
  /** Whether records with one key differ. */
  isNone: boolean;
}

/** Only names that a terminal or a mail shows as they are. */
const PLAIN_NAME = /^[\p{L}\p{N}_.$-]{1,60}$/u;
const MAX_NAMES = 20;

/** Why the key of the settings does not identify the records of a reading; `undefined` where it does. */
export function keyProblem(key: RecordKey, evidence: KeyEvidence): string | undefined {
  const { records, withoutKey, isNone } = evidence;
  if (withoutKey === 0) return isNone ? `records with one ${keyText(key)} differ` : undefined;
  const met = new Set(evidence.fields);
  const fields = [...met].filter((field) => PLAIN_NAME.test(field));
  const unmet = fieldsOfKey(key).filter((field) => !met.has(field));
  if (unmet.length === 0) return `${withoutKey} of ${records} records have no ${keyText(key)} of their own`;
  const meant = unmet.flatMap((field) => closestMatch(field, fields) ?? []);
  const more = met.size > MAX_NAMES ? ` and ${met.size - MAX_NAMES} more` : '';
  const hint = meant.length > 0 ? `, did you mean ${meant.join(', ')}?` : '';
  return `no record has ${keyText(unmet)}${hint} (fields: ${fields.slice(0, MAX_NAMES).join(', ')}${more})`;
}
