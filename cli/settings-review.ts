/** Reads the lake twice, by the settings of the lake and by the new ones, and writes nothing. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '@duckdb/node-api';
import { readCloses } from '../shared/lake/close.ts';
import { settingsInUse, usedSettings } from '../shared/lake/brand-settings.ts';
import type { ReportLedgers } from '../shared/lake/read.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { rangesText } from '../shared/watch/problems.ts';
import { type LakeDay, lakeDays } from './lake-days.ts';
import { counted } from '../shared/base/exact-number.ts';
import { cell } from './query-result.ts';
import { createSqlConnection } from './sql-tables.ts';
import { styleText } from './terminal-text.ts';
import { table } from './text-table.ts';

const AMOUNTS = ['commission', 'void', 'final'] as const;
const SQL = `SELECT brand, month, publisher_id, currency, publisher_name,
  {${AMOUNTS.map((name) => `'${name}': ${name}`).join(', ')}} AS amounts FROM payouts`;

export type SettingsReview = Awaited<ReturnType<typeof reviewSettings>>;

/** @param brand only this brand; missing: each brand of the settings that the lake has */
export async function reviewSettings(store: ObjectStore, given: LakeSettings, brand: string | undefined) {
  const nowMs = Date.now();
  const isWanted = (name: Json | undefined) =>
    typeof name === 'string' && Object.hasOwn(given.brands, name) && (brand ?? name) === name;
  let ledgers: readonly ReportLedgers[] = [];
  const onLedgers = (read: readonly ReportLedgers[]) => {
    ledgers = read;
  };
  const payoutsBy = async (settings: LakeSettings | undefined) => {
    const lake = { store, reports, settings, nowMs, onLedgers, onGap: () => {} };
    const connection = await createSqlConnection(lake, SQL);
    try {
      const rows = (await connection.runAndReadAll(SQL)).getRowObjectsJson();
      const own = rows.filter((row) => isWanted(row.brand));
      return new Map(
        own.map((row) => [JSON.stringify([row.brand, row.month, row.publisher_id, row.currency]), row]),
      );
    } finally {
      connection.closeSync();
    }
  };
  const [now, then] = [await payoutsBy(undefined), await payoutsBy(given)];
  const closed = new Set((await readCloses(store, brand)).map((close) => `${close.brand} ${close.month}`));
  const changes = [...new Map([...now, ...then])].flatMap(([key, row]) => {
    const [before = null, after = null] = [now.get(key)?.amounts, then.get(key)?.amounts];
    const { brand: of, month, publisher_id: publisherId, publisher_name: publisherName, currency } = row;
    const isClosed = closed.has(`${cell(of)} ${cell(month)}`);
    const order = `${isClosed ? 0 : 1} ${key}`;
    const change = {
      brand: of,
      month,
      closed: isClosed,
      publisherId,
      publisherName,
      currency,
      before,
      after,
    };
    return isDeepStrictEqual(before, after) ? [] : [{ order, change }];
  });
  const dueBy = (settings: LakeSettings | undefined) =>
    lakeDays(ledgers, settings, nowMs).filter(
      (day) => isWanted(day.brand) && (day.kind === 'missing' || Date.parse(day.nextDue ?? '') <= nowMs),
    );
  const idOf = ({ brand: of, report, dt }: LakeDay) => `${of} ${report} ${dt}`;
  const inLake = settingsInUse(ledgers, undefined).settings;
  const dueNow = new Set(dueBy(inLake).map(idOf));
  const due = dueBy({ ...given, brands: { ...inLake?.brands, ...given.brands } });
  const byReport = Map.groupBy(
    due.filter((day) => !dueNow.has(idOf(day))),
    ({ brand: of, report }) => `${of} ${report}`,
  );
  const known = new Map(usedSettings(ledgers, undefined).map((used) => [used.brand, used]));
  return {
    brands: usedSettings(ledgers, given)
      .filter((used) => isWanted(used.brand))
      .map(({ brand: of, hash }) => {
        const { hash: lakeHash = null, since: lakeSince = null } = known.get(of) ?? {};
        return { brand: of, hash, lakeHash, lakeSince };
      }),
    changes: changes.toSorted((a, b) => (a.order < b.order ? -1 : 1)).map(({ change }) => change),
    daysToRead: [...byReport.values()].flatMap(([first, ...others]) => {
      if (!first) return [];
      const days = [first, ...others].map(({ dt }) => dt);
      return [{ brand: first.brand, report: first.report, table: first.table, days }];
    }),
  };
}

export function reviewText({ brands, changes, daysToRead }: SettingsReview, file: string): string {
  const heads = brands.map(({ brand, hash, lakeHash, lakeSince }) => {
    const lake =
      lakeHash === null ? 'the lake has no settings' : `the lake has ${lakeHash} since ${lakeSince}`;
    return `${styleText('bold', brand)}: settings ${hash} of ${file}; ${hash === lakeHash ? 'the lake has the same' : lake}`;
  });
  const rows = changes.map(({ closed, before, after, ...row }) => ({
    ...{ brand: cell(row.brand), month: cell(row.month), '': closed ? 'closed' : '' },
    ...{ publisher: cell(row.publisherName ?? row.publisherId), currency: cell(row.currency) },
    ...Object.fromEntries(
      AMOUNTS.map((name) => [name, changeText(amount(before, name), amount(after, name))]),
    ),
  }));
  const months = new Set(
    changes.filter(({ closed }) => closed).map(({ brand, month }) => `${cell(brand)} ${cell(month)}`),
  );
  const summary =
    changes.length === 0
      ? 'No payout would change.'
      : `${counted(changes.length, 'payout')} would change, in ${counted(months.size, 'closed month')} and open ones.`;
  const reads = daysToRead.map(
    ({ brand, table: of, days }) =>
      `  ${brand} ${of}: ${counted(days.length, 'day')}, ${rangesText(days.map((dt) => ({ dt })))}`,
  );
  return [
    ...heads,
    summary,
    ...(rows.length > 0 ? [table(rows)] : []),
    reads.length === 0 ? 'No further day would be read.' : 'Days that a run would read:',
    ...reads,
  ].join('\n');
}

function amount(amounts: Json, name: string): Json | undefined {
  return amounts !== null && typeof amounts === 'object' && !Array.isArray(amounts)
    ? amounts[name]
    : undefined;
}

function changeText(before: Json | undefined, after: Json | undefined): string {
  const [old, now] = [cell(before, 0), cell(after, 0)];
  return old === now ? old : `${old} → ${now}`;
}
