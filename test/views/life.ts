/*
 * A random life of a brand's days: what the service had, what each reading returned, and the rows of the tables that a
 * pipeline stores from these readings. The oracle reads the readings alone.
 */
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from './lake-views.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const DAYS = ['2024-01-30', '2024-01-31', '2024-02-28', '2024-03-09', '2024-03-10'];
export const NOW = Date.parse('2024-06-20T00:00:00Z');

/** A record as its columns have it; an amount is a text with at most nine decimals. */
export type LifeRecord = Readonly<Record<string, string | null>>;

export interface Reading {
  from: number;
  to: number;
  records: readonly LifeRecord[];
}

export interface Life {
  zone: string;
  key: string;
  /** By day, in order: only readings that began after the day had ended. */
  readings: ReadonlyMap<string, readonly Reading[]>;
}

export const COLUMNS: readonly Column[] = [
  ...['transid', 'line', 'status', 'currency', 'publisher', 'type', 'note'].map(
    (name): Column => ({ name, type: 'string', field: name }),
  ),
  { name: 'amount', type: 'decimal(38,9)', field: 'amount' },
  { name: 'order_amount', type: 'decimal(38,9)', field: 'order_amount' },
  // A setting changed the type of this field.
  { name: 'commission', type: 'string', field: 'commission' },
  { name: 'commission_2', type: 'decimal(38,9)', field: 'commission' },
  { name: 'seen_at', type: 'timestamp', field: 'seen_at' },
  { name: '_rescued', type: 'string' },
  { name: '_synced_at', type: 'timestamp' },
];

export const ROLES = {
  fields: {
    ...{
      amount: ['order_amount', 'amount'],
      commission: 'commission',
      currency: 'currency',
      state: 'status',
    },
    ...{ kind: 'type', publisher_id: 'publisher.id', publisher_name: 'publisher.name', order_id: 'transid' },
  },
  words: { open: 'new', ok: 'effective', locked: 'locked', settled: 'paid', cancelled: 'void' },
  kinds: ['BONUS'],
};

const ZONES = ['UTC', 'America/New_York', 'Asia/Tokyo'];
const KEYS = ['transid', 'transid,line', 'note|transid', 'publisher.id,transid'];

/** The end of a day in a zone, and of the days after it, by trial. */
export function endOf(day: string, zone: string, days = 0): number {
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: zone });
  const last = new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10);
  let at = Date.parse(last) + 34 * HOUR + DAY;
  while (date.format(at - 1) > last) at -= HOUR / 2;
  return at;
}

export function randomOf(seed: number) {
  let state = (seed + 1) * 0x9e37_79b9;
  const random = () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(random() * count);
  function pick<T>(list: readonly T[]): T {
    const picked = list[below(list.length)];
    if (picked === undefined) throw new Error('nothing to pick');
    return picked;
  }
  return { below, pick, chance: (share: number) => random() < share };
}

export function lifeOf(seed: number): Life {
  const { below, pick, chance } = randomOf(seed);
  const zone = pick(ZONES);
  const key = pick(KEYS);
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `o${ids}`;
  };
  const money = () =>
    pick([
      `${below(90)}`,
      `${below(90)}.${below(90) + 10}`,
      '-3.5',
      '0',
      '0.000000001',
      '9876543210123456789.123456789',
    ]);
  const publisher = () =>
    pick([
      null,
      'no JSON',
      ...['A', 'B', 'Zoë "Q"'].map((id) => JSON.stringify({ id, name: pick(['Ann', 'Bo']) })),
    ]);
  const record = (): LifeRecord => ({
    transid: chance(0.15) ? null : newId(),
    line: pick([null, '1', '2']),
    status: pick(['open', 'ok', 'locked', ' SETTLED', 'cancelled', null]),
    currency: pick(['usd', 'USD', 'EUR']),
    publisher: publisher(),
    type: pick(['sale', 'Bonus', null]),
    note: pick([null, '', 'x', 'quote " \\ \n é']),
    ...{ amount: money(), order_amount: null, seen_at: pick([null, '2024-01-01 09:15:00.5']) },
    ...priced(),
  });
  const priced = () =>
    pick([
      { commission: money(), commission_2: null, _rescued: null },
      { commission: null, commission_2: money(), _rescued: null },
      { commission: null, commission_2: money(), _rescued: null },
      { commission: null, commission_2: null, _rescued: '{"commission":"1.00000000040000001"}' },
      { commission: chance(0.5) ? 'n/a' : null, commission_2: null, _rescued: null },
    ]);
  const service = new Map(DAYS.map((day) => [day, Array.from({ length: below(5) }, record)]));
  const change = () => {
    const held = service.get(pick(DAYS)) ?? [];
    const at = below(held.length);
    const before = held[at];
    if (before === undefined || chance(0.2)) return void held.push(record());
    const replace = (...by: LifeRecord[]) => void held.splice(at, 1, ...by);
    const changes: (() => void)[] = [
      () => replace(),
      () => replace(before, before),
      () => replace(before, { ...record(), transid: before.transid ?? null }),
      () => {
        replace();
        service.get(pick(DAYS))?.push(before);
      },
      () => replace({ ...before, publisher: publisher() }),
      () => replace({ ...before, currency: pick(['EUR', 'USD']) }),
      () => replace({ ...before, ...priced() }),
      () => replace({ ...before, ...priced() }),
      () => replace({ ...before, transid: chance(0.5) ? null : newId() }),
      () => replace({ ...before, amount: null, order_amount: before.order_amount ?? before.amount ?? null }),
      ...Array.from(
        { length: 6 },
        () => () => replace({ ...before, status: pick(['ok', 'locked', 'settled', 'settled', 'cancelled']) }),
      ),
    ];
    pick(changes)();
  };
  const readings = new Map<string, Reading[]>(DAYS.map((day) => [day, []]));
  let now = Date.parse('2024-02-01T00:00:00Z');
  for (;;) {
    now += below(chance(0.6) ? 30 * HOUR : 12 * DAY) + 1;
    if (now > NOW - DAY) break;
    while (chance(0.6)) change();
    const day = pick(DAYS);
    const to = now + below(HOUR);
    if (now >= endOf(day, zone))
      readings.get(day)?.push({ from: now, to, records: structuredClone(service.get(day) ?? []) });
    now = to + 1;
  }
  return { zone, key, readings };
}

const SEPARATOR = '\u001f';

/** The key of a record, by its name. */
export function keyOf(name: string, record: LifeRecord): string | null {
  const parts = name.split(',').map((part) => {
    const texts = part.split('|').map((place) => {
      const [column = '', path] = place.split('.');
      const text = record[column] ?? '';
      return path === undefined ? text : (jsonOf(text)[path] ?? '');
    });
    return texts.find((text) => text !== '') ?? '';
  });
  return parts.some((part) => part !== '') ? parts.join(SEPARATOR) : null;
}

export function jsonOf(text: string | null | undefined): Partial<Record<string, string>> {
  try {
    return JSON.parse(text ?? '{}');
  } catch {
    return {};
  }
}

export function textOf(record: LifeRecord): string {
  return JSON.stringify(COLUMNS.map(({ name }) => record[name] ?? null));
}

/** The rows of the tables that a pipeline has after these readings. */
export function storedRows(brand: string, report: string, { zone, key, readings }: Life) {
  const [current, before, coverage]: Row[][] = [[], [], []];
  for (const [dt, own] of readings) {
    const [first, last] = [own.at(0), own.at(-1)];
    if (!first || !last) continue;
    current?.push(...last.records.map((record) => ({ ...record, brand, dt })));
    let place = 0;
    for (const [index, reading] of own.entries()) {
      const previous = own[index - 1];
      const rows = previous ? changedRows(key, previous.records, reading.records) : [];
      if (!previous || rows.length === 0) continue;
      place += 1;
      const control = { _place: place, _cause: 'reading', _version: `v${index}`, _previous: `v${index - 1}` };
      const times = { _after: timeOf(previous.from), _by: timeOf(reading.to) };
      before?.push(...rows.map((row) => ({ ...row, ...control, ...times, brand, dt })));
    }
    const ages = [30, 60, 90].map((age) => [`age_${age}`, timeOf(endOf(dt, zone, age))]);
    coverage?.push({
      ...{
        brand,
        report,
        dt,
        month: dt.slice(0, 7),
        committed_state: 'complete',
        rows: last.records.length,
        key,
        place,
      },
      ...{
        first_by: timeOf(first.to),
        first_after: timeOf(first.from),
        time_zone: zone,
        ...Object.fromEntries(ages),
      },
    });
  }
  return { current: current ?? [], before: before ?? [], coverage: coverage ?? [] };
}

function changedRows(key: string, before: readonly LifeRecord[], after: readonly LifeRecord[]): Row[] {
  const keyIn = (record: LifeRecord) => keyOf(key, record);
  const [old, now] = [Map.groupBy(before, keyIn), Map.groupBy(after, keyIn)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((_key): Row[] => {
    const [own, later] = [old.get(_key) ?? [], now.get(_key) ?? []];
    if (_key === null) {
      const row = (_what: string) => (record: LifeRecord) => ({ ...record, _key, _what });
      return [...without(own, later).map(row('removed')), ...without(later, own).map(row('added'))];
    }
    if (without(own, later).length + without(later, own).length === 0) return [];
    if (own.length === 0) return [{ _key, _what: 'added' }];
    return own.map((record) => ({ ...record, _key, _what: later.length === 0 ? 'removed' : 'altered' }));
  });
}

/** The copies of records that the others lack. */
function without(records: readonly LifeRecord[], others: readonly LifeRecord[]): LifeRecord[] {
  const left = new Map([...Map.groupBy(others, textOf)].map(([text, copies]) => [text, copies.length]));
  return records.filter((record) => {
    const count = left.get(textOf(record)) ?? 0;
    left.set(textOf(record), count - 1);
    return count <= 0;
  });
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 23);
}
