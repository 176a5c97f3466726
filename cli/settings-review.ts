/**
 * Reviews settings before a run adopts them: which amounts of `payouts` they would change, and which days they would make a
 * run read. It reads the lake twice, by the settings of the lake and by the new ones, and writes nothing.
 */
import type { Json } from '../shared/json.ts';
import { readCloses } from '../shared/lake/documents/close.ts';
import { settingsInUse, usedSettings } from '../shared/lake/documents/brand-settings.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { rangesText } from '../shared/status/problems.ts';
import { lakeDays } from './mcp/lake-days.ts';
import { counted } from './output.ts';
import { createSqlConnection } from './sql-tables.ts';
import { styleText } from './terminal-text.ts';
import { table } from './text-table.ts';

const AMOUNTS = ['commission', 'void', 'final'] as const;
type Amounts = Readonly<Record<(typeof AMOUNTS)[number], Json>>;

interface ChangedPayout {
  brand: string;
  month: string;
  closed: boolean;
  publisherId: Json;
  publisherName: Json;
  currency: Json;
  /** `null`: the payouts have no such row. */
  before: Amounts | null;
  after: Amounts | null;
}

/** Days that a run would read now under the new settings alone. */
interface DaysToRead {
  brand: string;
  report: string;
  table: string;
  days: string[];
}

export interface SettingsReview {
  brands: { brand: string; hash: string; lakeHash: string | null; lakeSince: string | null }[];
  changes: ChangedPayout[];
  daysToRead: DaysToRead[];
}

/** @param brand only this brand; missing: each brand of the settings that the lake has */
export async function reviewSettings(
  store: ObjectStore,
  given: LakeSettings,
  brand: string | undefined,
): Promise<SettingsReview> {
  const nowMs = Date.now();
  const isWanted = (name: Json | undefined) =>
    typeof name === 'string' && Object.hasOwn(given.brands, name) && (brand ?? name) === name;
  const payoutsBy = async (settings: LakeSettings | undefined) => {
    let ledgers: readonly ReportLedgers[] = [];
    const onLedgers = (read: readonly ReportLedgers[]) => {
      ledgers = read;
    };
    const lake = { store, reports, settings, nowMs, onLedgers, onGap: () => {} };
    const connection = await createSqlConnection(lake, SQL);
    try {
      const rows = (await connection.runAndReadAll(SQL)).getRowObjectsJson();
      return {
        ledgers,
        rows: new Map(rows.map((row) => [JSON.stringify(KEY.map((name) => row[name])), row])),
      };
    } finally {
      connection.closeSync();
    }
  };
  const [now, then] = [await payoutsBy(undefined), await payoutsBy(given)];
  const closed = new Set((await readCloses(store, brand)).map((close) => `${close.brand} ${close.month}`));
  const changes = [...new Set([...now.rows.keys(), ...then.rows.keys()])].flatMap((key): ChangedPayout[] => {
    const [before, after] = [now.rows.get(key), then.rows.get(key)];
    const row = after ?? before ?? {};
    if (!isWanted(row.brand) || AMOUNTS.every((name) => before?.[name] === after?.[name])) return [];
    const [of, month] = [String(row.brand), String(row.month)];
    const publisher = { publisherId: row.publisher_id ?? null, publisherName: row.publisher_name ?? null };
    const amounts = { before: amountsOf(before), after: amountsOf(after) };
    return [
      {
        brand: of,
        month,
        closed: closed.has(`${of} ${month}`),
        ...publisher,
        currency: row.currency ?? null,
        ...amounts,
      },
    ];
  });
  const { ledgers } = then;
  const dueBy = (settings: LakeSettings | undefined) =>
    lakeDays(ledgers, settings, nowMs).filter(
      (day) => isWanted(day.brand) && (day.kind === 'missing' || Date.parse(day.nextDue ?? '') <= nowMs),
    );
  const inLake = settingsInUse(ledgers, undefined).settings;
  const dueNow = new Set(dueBy(inLake).map(({ report, brand: of, dt }) => `${report} ${of} ${dt}`));
  const newlyDue = dueBy({ ...given, brands: { ...inLake?.brands, ...given.brands } }).filter(
    ({ report, brand: of, dt }) => !dueNow.has(`${report} ${of} ${dt}`),
  );
  const byReport = Map.groupBy(newlyDue, ({ brand: of, report }) => `${of} ${report}`);
  const known = new Map(usedSettings(ledgers, undefined).map((used) => [used.brand, used]));
  return {
    brands: usedSettings(ledgers, given)
      .filter((used) => isWanted(used.brand))
      .map(({ brand: of, hash }) => {
        const { hash: lakeHash = null, since: lakeSince = null } = known.get(of) ?? {};
        return { brand: of, hash, lakeHash, lakeSince };
      }),
    changes: changes.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)),
    daysToRead: [...byReport.values()].flatMap(([first, ...others]) => {
      if (!first) return [];
      const days = [first, ...others].map(({ dt }) => dt);
      return [{ brand: first.brand, report: first.report, table: first.table, days }];
    }),
  };
}

const KEY = ['brand', 'month', 'publisher_id', 'currency'] as const;
const SQL = `SELECT ${[...KEY, 'publisher_name', ...AMOUNTS].join(', ')} FROM payouts`;

function amountsOf(row: Readonly<Record<string, Json>> | undefined): Amounts | null {
  if (!row) return null;
  return { commission: row.commission ?? null, void: row.void ?? null, final: row.final ?? null };
}

function orderOf({ closed, brand, month, publisherId, currency }: ChangedPayout): string {
  return JSON.stringify([closed ? 0 : 1, brand, month, publisherId, currency]);
}

export function reviewText({ brands, changes, daysToRead }: SettingsReview, file: string): string {
  const heads = brands.map(({ brand, hash, lakeHash, lakeSince }) => {
    const lake =
      lakeHash === null ? 'the lake has no settings' : `the lake has ${lakeHash} since ${lakeSince}`;
    return `${styleText('bold', brand)}: settings ${hash} of ${file}; ${hash === lakeHash ? 'the lake has the same' : lake}`;
  });
  const rows = changes.map(
    ({ brand, month, closed, publisherId, publisherName, currency, before, after }) => ({
      ...{ brand, month, '': closed ? 'closed' : '', publisher: text(publisherName ?? publisherId) },
      currency: text(currency),
      ...Object.fromEntries(AMOUNTS.map((name) => [name, changeText(before?.[name], after?.[name])])),
    }),
  );
  const months = new Set(
    changes.filter(({ closed }) => closed).map(({ brand, month }) => `${brand} ${month}`),
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

function changeText(before: Json | undefined, after: Json | undefined): string {
  const [old, now] = [text(before), text(after)];
  return old === now ? old : `${old} → ${now}`;
}

function text(value: Json | undefined): string {
  if (value === null || value === undefined) return 'none';
  const plain = String(value);
  return /^-?\d+\.\d+$/.test(plain) ? plain.replace(/\.?0+$/, '') : plain;
}
