/**
 * Holds the records of a history's service, under one interpretation of the interface's open points, and changes them
 * while runs read. Every version of a record has its own `mark`, so that a lost, doubled or old row shows by its text.
 * A day stops changing when its refresh policy ends: no later reading is due, so no pipeline could see a change.
 */
import { DAY_MS, MINUTE_MS, addDays, dayOf, daysFrom, endOfDay, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { reports } from '../../shared/reports/index.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { type HeldTable, type Living, type LivingBrand, heldTable, wordAt } from '../simulation/brand.ts';
import type { Random } from '../simulation/random.ts';
import {
  ADDRESS,
  type Account,
  type Interpretation,
  SERVICE,
  interpretationAt,
  settingsFor,
} from '../simulation/service.ts';

export const BRAND = 'acme';

export interface World {
  startDate: string;
  stormStartMs: number;
  stormEndMs: number;
  interpretation: Interpretation;
  /** Whether responses have a `Date`. */
  hasDates: boolean;
  settings: Settings;
  reports: readonly ReportDefinition[];
  brand: LivingBrand;
  /** The credentials that their source returns: after a rotation, the old ones for some time. */
  credentials: Account;
  /** Every token and secret that has ever been valid. */
  secrets: Set<string>;
  /** A new record of the day, with its time. */
  make(table: HeldTable, day: string, at: number): Living;
  /** When a day of a table changed in another way than by records that appear soon after their time. */
  readonly changes: { table: HeldTable; day: string; atMs: number }[];
}

type OrderKeys = 'every order' | 'no order' | 'some orders' | 'one for two';

const pageSize = 20;
const limit = 5;
export const lateMinutes = 15;

export function worldOf(random: Random): World {
  const timeZone = random.pick([
    'America/New_York',
    'UTC',
    'Asia/Kolkata',
    // Without a midnight in some spring, and with a last hour that comes twice.
    'America/Santiago',
    'Asia/Beirut',
    'Pacific/Auckland',
    'Europe/London',
  ]);
  const aroundClockChange = random.chance(0.3);
  const firstDay = aroundClockChange ? '2026-10-22' : addDays('2026-02-10', random.whole(0, 40));
  const stormStartMs = startOfDay(firstDay, timeZone) + random.whole(0, DAY_MS);
  const stormEndMs = stormStartMs + random.whole(DAY_MS, 4 * DAY_MS);
  const startDate = addDays(dayOf(stormStartMs, timeZone), -random.whole(0, 4));
  const interpretation = interpretationAt(random);
  const chosen = chosenReports(random);
  const account = newAccount(random);
  const lastDay = dayOf(stormEndMs, timeZone);
  const world: World = {
    startDate,
    stormStartMs,
    stormEndMs,
    interpretation,
    hasDates: random.chance(0.85),
    reports: Object.values(reports).filter(({ name }) => chosen.includes(name)),
    settings: parseSettings(settingsOf(random, { timeZone, startDate, interpretation, chosen }), reports),
    brand: {
      timeZone,
      days: daysFrom(addDays(startDate, -1), lastDay),
      held: { clicks: new Map(), orders: new Map(), transactions: new Map(), attribution: new Map() },
    },
    credentials: account,
    secrets: new Set([account.token, account.secret]),
    changes: [],
    make: makerOf(random, timeZone),
  };
  fill(world, random);
  return world;
}

export function newAccount(random: Random): Account {
  const token = () => Array.from({ length: 24 }, () => random.whole(10, 35).toString(36)).join('');
  return { bid: '1001', token: token(), secret: token() };
}

function chosenReports(random: Random): string[] {
  const groups = [
    ['clicks_list'],
    ['clicks_list', 'clicks_detail'],
    ['order_list'],
    ['transaction_list'],
    ['amazon_attribution_report'],
  ];
  return [...new Set(random.sample(groups, random.whole(1, 3)).flat())];
}

function settingsOf(
  random: Random,
  world: Pick<World, 'startDate' | 'interpretation'> & { timeZone: string; chosen: readonly string[] },
) {
  const clicks: JsonObject[] = [{ untilAgeDays: random.whole(1, 2), every: '1 day' }];
  const restated: JsonObject[] = [
    { untilAgeDays: random.whole(1, 2), every: random.pick(['run', '6 hours']) },
    { untilAgeDays: random.whole(3, 5), every: '1 day' },
  ];
  const sizes: Record<string, JsonObject> = {
    clicks_list: { page_size: pageSize, refresh: clicks },
    clicks_detail: { refresh: clicks },
    order_list: {
      page_size: pageSize,
      refresh: restated,
      ...ALL_FINAL,
    },
    transaction_list: {
      limit,
      refresh: restated,
      ...ALL_FINAL,
    },
    amazon_attribution_report: { limit, refresh: restated },
  };
  return {
    requestsPerSecond: random.pick([0.5, 1, 3, 100]),
    pagesInFlight: random.whole(1, 4),
    brands: {
      [BRAND]: {
        baseUrl: ADDRESS,
        service: SERVICE,
        timeZone: world.timeZone,
        startDate: world.startDate,
        secretName: 'none',
        lateMinutes,
        snapshotRetentionDays: 1,
        ...settingsFor(world.interpretation),
        reports: Object.fromEntries(
          Object.entries(sizes).map(([name, own]) => [
            name,
            { ...own, enabled: world.chosen.includes(name) },
          ]),
        ),
      },
    },
  };
}

/** The days that must end with every record known: from the first day of the settings to the day before the storm ended. */
export function daysOf({ startDate, brand }: World): string[] {
  return brand.days.filter((day) => day >= startDate);
}

/** From then on only the last reading of the day is due, so the service may no longer change the day. */
export function changesEndMs(world: World, table: HeldTable, day: string): number {
  const report = Object.values(reports).find((one) => one.table === table);
  const refresh = world.settings.brands[BRAND]?.reports[report?.name ?? '']?.refresh ?? [];
  return startOfDay(addDays(day, (refresh.at(-1)?.untilAgeDays ?? 0) + 1), world.brand.timeZone);
}

function fill(world: World, random: Random): void {
  const { brand, interpretation } = world;
  const page = Math.min(pageSize, interpretation.pageCap);
  const cursorPage = Math.min(limit, interpretation.pageCap);
  for (const day of brand.days)
    for (const [table, size] of [
      ['clicks', page],
      ['orders', page],
      ['transactions', cursorPage],
      ['attribution', cursorPage],
    ] as const) {
      const count = random.pick([0, 1, size - 1, size, size + 1, 2 * size, 3 * size, 3 * size + 1, 6 * size]);
      for (const at of instants(brand, day, count, random)) hold(world, table, world.make(table, day, at));
    }
}

/** Adds the record to its day, which stays in the order of time. */
function hold({ brand }: World, table: HeldTable, one: Living): void {
  const day = dayOf(one.atMs, brand.timeZone);
  const held = [...(brand.held[table].get(day) ?? []), one];
  brand.held[table].set(
    day,
    held.sort((a, b) => a.atMs - b.atMs),
  );
}

/** Times of a day, including its first instant and its last second. */
function instants({ timeZone }: LivingBrand, day: string, count: number, random: Random): number[] {
  const startMs = startOfDay(day, timeZone);
  const endMs = endOfDay(day, timeZone);
  const anywhere = () => Math.floor(random.between(startMs, endMs));
  return Array.from(
    { length: count },
    (_, index) => [startMs, endMs - random.whole(1, 999)][index] ?? anywhere(),
  );
}

function makerOf(random: Random, timeZone: string): World['make'] {
  const keys = random.pick<OrderKeys>([
    'every order',
    'every order',
    'no order',
    'some orders',
    'one for two',
  ]);
  let made = 0;

  function make(table: HeldTable, day: string, at: number): Living {
    made += 1;
    // Records without a key come in identical pairs.
    const number = table === 'transactions' || keys === 'no order' ? made - (made % 2) : made;
    const mark = `${table}-${table === 'clicks' ? made : number}`;
    const lateMs = random.chance(0.3) ? random.whole(0, (lateMinutes - 2) * MINUTE_MS) : 0;
    switch (table) {
      case 'clicks': {
        // `created_time` has whole seconds.
        const secondMs = Math.floor(at / 1000) * 1000;
        const pbtid = String(7_000_000 + made);
        const record = {
          ...{ id: String(made), pbtid },
          created_time: httpDate(secondMs),
          mark,
        };
        return {
          ...appearing(secondMs, secondMs + lateMs, record),
          detail: { id: made, pbtid, mark: `detail of ${mark}` },
        };
      }
      case 'orders':
        return appearing(at, at + lateMs, { ...orderKey(made), amount: number, status: 'new', mark });
      case 'transactions':
        return appearing(at, at + lateMs, {
          order_id: `ORD-${number}`,
          commission: number,
          status: 'new',
          mark,
        });
      case 'attribution':
        return appearing(startOfDay(day, timeZone), at, {
          date: day.replaceAll('-', ''),
          adGroupId: `group ${made}`,
          dpv: made,
          click: 1,
          mark,
        });
    }
  }

  function orderKey(number: number): JsonObject {
    // Spread, so that a new order falls between two others.
    const transid = 1 + ((number * 7919) % 999_983);
    switch (keys) {
      case 'every order':
        return { transid };
      case 'no order':
        return {};
      case 'some orders':
        return random.chance(0.5) ? { transid } : {};
      case 'one for two':
        return { transid: 1 + ((Math.floor(number / 2) * 7919) % 999_983) };
    }
  }

  return make;
}

/** A record that is served after an instant. */
function appearing(atMs: number, afterMs: number, record: JsonObject): Living {
  return { atMs, versions: [{ fromMs: afterMs + 1, record }] };
}

/** The records that a report's day must have, as often as the service has them. */
export function recordsHeld({ brand }: World, report: ReportDefinition, day: string, nowMs: number) {
  const shown = wordAt(brand, heldTable(report), day, nowMs);
  return shown.map(({ living, record }) => (report.day.by === 'upstream' ? (living.detail ?? {}) : record));
}

/** Whether the day may have been read in two versions since then: the query of a day may include the first instant of the next. */
export function hasChangedSince(
  world: World,
  report: ReportDefinition,
  day: string,
  sinceMs: number,
): boolean {
  const table = heldTable(report);
  const next = addDays(day, 1);
  return world.changes.some(
    (change) =>
      change.table === table && change.atMs >= sinceMs && (change.day === day || change.day === next),
  );
}

/** Changes one day of a table: adds records, and unless the records are clicks, restates and removes some too. */
export function change(world: World, table: HeldTable, day: string, nowMs: number, random: Random): void {
  if (nowMs >= changesEndMs(world, table, day) || day < world.startDate) return;
  const present = wordAt(world.brand, table, day, nowMs);
  // A day settles if every record of it is final: the service may no longer change it.
  if (present.length > 0 && present.every(({ record }) => record.status === 'effective')) return;
  const kind = table === 'clicks' ? 'add' : random.pick(['add', 'remove', 'restate']);
  const some = random.sample(present, random.whole(1, Math.max(1, Math.ceil(present.length / 3))));
  if (kind === 'add') {
    const { timeZone } = world.brand;
    const [startMs, endMs] = [startOfDay(day, timeZone), Math.min(nowMs, endOfDay(day, timeZone))];
    for (let more = random.whole(1, 6); more > 0; more -= 1) {
      const made = world.make(table, day, Math.floor(random.between(startMs, endMs - 1)));
      const versions = made.versions.map((version) => ({ ...version, fromMs: nowMs + 1 }));
      hold(world, table, { ...made, versions });
    }
  }
  for (const { living, record } of some) {
    if (kind === 'remove') living.versions = [...living.versions, { fromMs: nowMs }];
    if (kind === 'restate') {
      const restated = { ...record, status: 'effective', mark: `${String(record.mark)}'` };
      living.versions = [...living.versions, { fromMs: nowMs, record: restated }];
    }
  }
  world.changes.push({ table, day, atMs: nowMs });
}
