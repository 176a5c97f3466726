import { type RecordKey, fieldsOfKey } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { ReportSettings } from '../settings/settings.ts';

interface KeyedReport {
  report: Pick<ReportDefinition, 'primaryKey' | 'likelyKeys'>;
  settings?: Pick<ReportSettings, 'key'> | undefined;
}

export function primaryKeyField({ report, settings }: KeyedReport): RecordKey | undefined {
  return settings?.key ?? report.primaryKey?.field;
}

/**
 * The keys by which two versions of a day may be compared, the best key first. The caller uses the first key whose
 * values are unique in both versions. Uniqueness proves the key, so a likely key needs no setting.
 * @param keyIsNone whether readings have proven that the primary key does not identify records
 */
export function comparableKeys(of: KeyedReport, keyIsNone: boolean): RecordKey[] {
  const primary = keyIsNone ? undefined : primaryKeyField(of);
  return [...(primary === undefined ? [] : [primary]), ...(of.report.likelyKeys ?? [])];
}

/** The fields of roles and keys: no table should lack their columns, however many fields its records have. */
export function fieldsWithMeaning(
  of: KeyedReport & { settings: Pick<ReportSettings, 'fields' | 'key'> },
): string[] {
  const ofRoles = Object.values(of.settings.fields).flatMap((fields) => fields ?? []);
  return [...ofRoles, ...comparableKeys(of, false).flatMap((key) => [...fieldsOfKey(key)])];
}

/** A key as text for people: `"order_id" and "sku"`. */
export function keyText(key: RecordKey): string {
  return fieldsOfKey(key)
    .map((field) => JSON.stringify(field))
    .join(' and ');
}

export interface KeyEvidence {
  records: number;
  /** How many records have no key, or the same key as another record of their page. */
  withoutKey: number;
  fields: readonly string[];
  keyIsNone: boolean;
}

/** Names that a terminal or a mail shows unchanged; other names are left out of messages. */
const PLAIN_NAME = /^[\p{L}\p{N}_.$-]{1,60}$/u;
const MAX_NAMES = 20;

/** Why the key in the settings does not identify the records of a reading; `undefined` if it does. */
export function keyProblem(key: RecordKey, evidence: KeyEvidence): string | undefined {
  const { records, withoutKey, keyIsNone } = evidence;
  if (withoutKey === 0) return keyIsNone ? `records with the same ${keyText(key)} differ` : undefined;
  const met = new Set(evidence.fields);
  const fields = [...met].filter((field) => PLAIN_NAME.test(field));
  const unmet = fieldsOfKey(key).filter((field) => !met.has(field));
  if (unmet.length === 0)
    return `${withoutKey} of ${records} records have no ${keyText(key)}, or share it with another record of the same page`;
  const more = met.size > MAX_NAMES ? ` and ${met.size - MAX_NAMES} more` : '';
  return `no record has ${keyText(unmet)} (fields: ${fields.slice(0, MAX_NAMES).join(', ')}${more})`;
}
