/**
 * What a brand-side service holds as time goes by. A record is a list of versions, so that what the service says at any
 * instant follows from that instant alone: this is the oracle of what a lake must hold.
 */
import type { JsonObject } from '../../shared/json.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';

/** What is held by day; details are held with their clicks. */
export const heldTables = ['clicks', 'orders', 'transactions', 'attribution'] as const;
export type HeldTable = (typeof heldTables)[number];

/** What the record is from an instant on; without a record it is gone. */
export interface Version {
  fromMs: number;
  record?: JsonObject;
}

/** From an instant on, and no longer at another (ms). */
export interface Span {
  fromMs: number;
  toMs: number;
}

export interface Living {
  /** The instant that decides which ranges of time have it. */
  atMs: number;
  /** In the order of their time; before the first one the service does not have it. */
  versions: readonly Version[];
  /** Of a click: its detail, and when lookups of it are refused. */
  detail?: JsonObject;
  refused?: readonly Span[];
}

/** A release of the service: while it lasts, every record of a table is served otherwise, however old it is. */
export interface Release extends Span {
  table: HeldTable;
  serve: (record: JsonObject) => JsonObject;
}

export interface LivingBrand {
  timeZone: string;
  /** Every day that has a life of its own, in order. */
  days: readonly string[];
  /** By table and day. */
  held: Readonly<Record<HeldTable, Map<string, readonly Living[]>>>;
  releases: readonly Release[];
}

/** Where the records of a report are held. */
export function heldTable({ table }: Pick<ReportDefinition, 'table'>): HeldTable {
  const held = heldTables.find((one) => one === (table === 'click_details' ? 'clicks' : table));
  if (!held) throw new Error(`the service holds no ${table}`);
  return held;
}

/** A record as the service shows it at an instant. */
export interface Shown {
  living: Living;
  record: JsonObject;
}

/** The service's word on a day of a table at an instant, in the order of the records' time. */
export function wordAt(brand: LivingBrand, table: HeldTable, day: string, atMs: number): Shown[] {
  const releases = brand.releases.filter((release) => release.table === table && isWithin(release, atMs));
  return (brand.held[table].get(day) ?? []).flatMap((living) => {
    const record = versionAt(living, atMs)?.record;
    if (!record) return [];
    return [{ living, record: releases.reduce((served, { serve }) => serve(served), record) }];
  });
}

/** Whether the service's word on a day changed after one instant and up to another. */
export function changesBetween(
  brand: LivingBrand,
  table: HeldTable,
  day: string,
  { fromMs, toMs }: Span,
): boolean {
  const isBetween = (ms: number) => fromMs < ms && ms <= toMs;
  const held = brand.held[table].get(day) ?? [];
  return (
    held.some(({ versions }) => versions.some((version) => isBetween(version.fromMs))) ||
    (held.length > 0 &&
      brand.releases.some(
        (release) => release.table === table && (isBetween(release.fromMs) || isBetween(release.toMs)),
      ))
  );
}

export function isWithin({ fromMs, toMs }: Span, atMs: number): boolean {
  return fromMs <= atMs && atMs < toMs;
}

function versionAt({ versions }: Living, atMs: number): Version | undefined {
  return versions.findLast(({ fromMs }) => fromMs <= atMs);
}
