/* Replays the readings of a life in plain JavaScript. It uses no places, no changes and no SQL. */
import {
  DAY,
  DAYS,
  type Life,
  type LifeRecord,
  NOW,
  type Reading,
  endOf,
  jsonOf,
  keyOf,
  textOf,
  timeOf,
} from './life.ts';

export interface Known {
  key: string | null;
  state: string | null;
  kind: string;
  publisher: string | null;
  name: string | null;
  currency: string | null;
  /** In units of 10^-9; `undefined`: not known. */
  amount: bigint | undefined;
  commission: bigint | undefined;
  counted: bigint | undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  open: 'new',
  ok: 'effective',
  settled: 'paid',
  cancelled: 'void',
};
const LIMIT = 10n ** 29n;

function amountOf(texts: readonly (string | null | undefined)[]): bigint | undefined {
  const text = texts.find((each) => each?.trim())?.trim();
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text ?? '') ?? [];
  if (whole === '') return undefined;
  const digits = part.padEnd(10, '0');
  const units = BigInt(whole + digits.slice(0, 9)) + (Number(digits[9]) >= 5 ? 1n : 0n);
  return units >= LIMIT ? undefined : sign === '-' ? -units : units;
}

export function known(life: Life, record: LifeRecord): Known {
  const word = record.status?.trim().toLowerCase() ?? null;
  const state = word === null ? null : (WORDS[word] ?? word);
  const { id = null, name = null } = jsonOf(record.publisher);
  const rescued = jsonOf(record._rescued);
  const commission = amountOf([record.commission, record.commission_2, rescued.commission]);
  return {
    ...{ key: keyOf(life.key, record), state, publisher: id, name },
    kind: record.type?.toLowerCase() === 'bonus' ? 'bonus' : 'sale',
    currency: record.currency?.toUpperCase() ?? null,
    amount: amountOf([record.order_amount, record.amount]),
    commission,
    counted: state === 'void' ? 0n : commission,
  };
}

/** The sum of all; `undefined` if one is not known. */
export function sumOf(amounts: readonly (bigint | undefined)[]): bigint | undefined {
  let sum = 0n;
  for (const amount of amounts) {
    if (amount === undefined) return undefined;
    sum += amount;
  }
  return sum;
}

const greatest = (texts: readonly (string | null)[]) =>
  texts.reduce((max, text) => (text !== null && (max === null || text > max) ? text : max), null);

function groupOf(records: readonly Known[]) {
  const [first] = records;
  if (!first) return undefined;
  const same = (of: (record: Known) => unknown) => records.every((record) => of(record) === of(first));
  const isOne = same(({ currency }) => currency);
  const total = (of: 'amount' | 'commission' | 'counted') =>
    isOne ? sumOf(records.map((record) => record[of])) : undefined;
  return {
    count: records.length,
    publisher: greatest(records.map(({ publisher }) => publisher)),
    kind: greatest(records.map(({ kind }) => kind)),
    currency: isOne ? first.currency : null,
    state: same(({ state }) => state) ? first.state : 'mixed',
    ...{ amount: total('amount'), commission: total('commission'), counted: total('counted') },
  };
}

const SHOWN = ['effective', 'locked', 'paid', 'void'];
const AGES = [30, 60, 90];
const timeAt = (ms: number | undefined) => (ms === undefined ? null : timeOf(ms));

export function orderStates(life: Life): Record<string, unknown>[] {
  return DAYS.flatMap((dt) => {
    const readings = (life.readings.get(dt) ?? []).map((reading) => ({
      ...reading,
      records: reading.records.map((record) => known(life, record)),
    }));
    const keys = new Set(readings.flatMap(({ records }) => records.map(({ key }) => key)));
    keys.delete(null);
    return [...keys].map((key) => {
      const seen = readings.map(({ from, to, records }, index) => ({
        ...{ to, after: readings[index - 1]?.from, from },
        group: groupOf(records.filter((record) => record.key === key)),
      }));
      const last = seen.findLast(({ group }) => group);
      const now = seen.at(-1)?.group;
      const gone = now ? undefined : seen[seen.findLastIndex(({ group }) => group) + 1];
      const first = seen.find(({ group }) => group)?.group;
      const states = ['seen', ...SHOWN].flatMap((state) => {
        const met = seen.find(({ group }) => group && (state === 'seen' || group.state === state));
        return [
          [`${state}_after`, timeAt(met?.after)],
          [`${state}_by`, timeAt(met?.to)],
          [`${state}_amount`, met?.group?.amount],
          [`${state}_commission`, met?.group?.commission],
        ];
      });
      const ages = AGES.map((age) => {
        const at = seen.findLast(({ to }) => to <= endOf(dt, life.zone, age));
        return [`commission_${age}`, at && (at.group ? at.group.counted : 0n)];
      });
      const atFirst = seen[0]?.group;
      return {
        ...{
          dt,
          key,
          records: now?.count ?? 0,
          publisher_id: last?.group?.publisher,
          kind: last?.group?.kind,
        },
        ...{ currency: last?.group?.currency, state: last?.group?.state, seen_currency: first?.currency },
        ...{ amount: last?.group?.amount, commission: last?.group?.commission },
        counted_commission: now ? now.counted : 0n,
        ...{ gone_after: timeAt(gone?.after), gone_by: timeAt(gone?.to) },
        ...Object.fromEntries(states),
        commission_0: atFirst ? atFirst.counted : 0n,
        ...Object.fromEntries(ages),
      };
    });
  });
}

/** The records of a day that the last reading up to an instant returned; `undefined`: the day was not closed by then. */
export function recordsAt(life: Life, dt: string, at: number): Known[] | undefined {
  const reading = life.readings.get(dt)?.findLast(({ to }) => to <= at);
  return reading?.records.map((record) => known(life, record));
}

interface Reversed {
  dt: string;
  publisher: string | null;
  currency: string | null;
  difference: bigint | undefined;
  unknown: number;
}

/** By record: what counted where it was first paid, minus what counts now. */
export function reversed(life: Life): Reversed[] {
  const all = DAYS.flatMap((dt) =>
    (life.readings.get(dt) ?? []).map((reading) => ({
      ...{ dt, to: reading.to },
      records: reading.records.map((record) => known(life, record)),
    })),
  ).sort((a, b) => a.to - b.to);
  const now = DAYS.flatMap((dt) => (recordsAt(life, dt, NOW) ?? []).map((record) => ({ dt, ...record })));
  const keys = new Set(all.flatMap(({ records }) => records.map(({ key }) => key)));
  keys.delete(null);
  const ofKeys = [...keys].flatMap((key) => {
    const isPaid = (record: Known) => record.key === key && record.state === 'paid';
    const first = all.find(({ records }) => records.some(isPaid));
    const current = now.filter((record) => record.key === key);
    // A record that nothing replaced is what was paid, even if its amount is not known.
    if (!first || (current.length === 1 && !wasReplaced(life, key))) return [];
    // What is still where it was first paid has not changed, even if its amount is not known. Lines of one key are one group.
    const isStill = !changedSince(life, first.dt, key, first.to);
    const isSame = (record: Known & { dt?: string }) => isStill && record.dt === first.dt;
    const isUnkeyed = current.length === 0 && mayHaveLostKey(life, key);
    const parts = [
      ...(isStill ? [] : first.records.filter((record) => record.key === key)).map((record) => ({
        record: isUnkeyed ? { ...record, counted: undefined } : record,
        sign: 1n,
      })),
      ...current.filter((record) => !isSame(record)).map((record) => ({ record, sign: -1n })),
    ];
    return [
      ...Map.groupBy(parts, ({ record }) => JSON.stringify([record.publisher, record.currency])).values(),
    ].map(
      (own): Reversed => ({
        ...{
          dt: first.dt,
          publisher: own[0]?.record.publisher ?? null,
          currency: own[0]?.record.currency ?? null,
        },
        difference: sumOf(own.map(({ record, sign }) => record.counted && record.counted * sign)),
        unknown: own.filter(({ record }) => record.counted === undefined).length,
      }),
    );
  });
  return [...ofKeys.filter(({ difference }) => difference !== 0n), ...reversedWithoutKey(life)];
}

/** Whether a later reading of a day had other records with the key than a reading in which one was paid. */
function wasReplaced(life: Life, key: string | null): boolean {
  return DAYS.some((dt) =>
    (life.readings.get(dt) ?? []).some(
      ({ records, to }) =>
        records.some((record) => keyOf(life.key, record) === key && known(life, record).state === 'paid') &&
        changedSince(life, dt, key, to),
    ),
  );
}

/** Whether a reading of the day after that one had other records with the key. */
function changedSince(life: Life, dt: string, key: string | null, to: number): boolean {
  const later = (life.readings.get(dt) ?? []).filter((reading) => reading.to >= to);
  const texts = later.map(({ records }) =>
    records
      .filter((record) => keyOf(life.key, record) === key)
      .map(textOf)
      .sort()
      .join(),
  );
  return texts.some((text) => text !== texts[0]);
}

/** Whether a reading that no longer had the key had other records without a key than the reading before. */
function mayHaveLostKey(life: Life, key: string | null): boolean {
  const textsOf = (reading: Reading | undefined, of: string | null) =>
    (reading?.records ?? []).filter((record) => keyOf(life.key, record) === of).map(textOf);
  return [...life.readings.values()].some((readings) => {
    const last = readings.findLastIndex((reading) => textsOf(reading, key).length > 0);
    const [before, after] = [readings[last], readings[last + 1]].map((reading) => textsOf(reading, null));
    const left = [...(before ?? [])];
    return (
      last >= 0 &&
      (after ?? []).some((text) => !left.includes(text) || left.splice(left.indexOf(text), 1).length === 0)
    );
  });
}

/** Records without a key that were paid: each time when a reading has fewer copies, nobody knows whether they are gone. */
function reversedWithoutKey(life: Life): Reversed[] {
  return DAYS.flatMap((dt) => {
    const readings = life.readings.get(dt) ?? [];
    return readings.flatMap(({ records }, index) => {
      const next = readings[index + 1];
      if (!next) return [];
      const copies = (of: readonly LifeRecord[]) =>
        Map.groupBy(
          of.filter((record) => keyOf(life.key, record) === null),
          (record) => JSON.stringify(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))),
        );
      const later = copies(next.records);
      return [...copies(records)].flatMap(([text, own]) => {
        const record = own[0] && known(life, own[0]);
        const lost = Math.max(0, own.length - (later.get(text)?.length ?? 0));
        if (record?.state !== 'paid' || lost === 0) return [];
        return Array.from({ length: lost }, () => ({
          ...{
            dt,
            publisher: record.publisher,
            currency: record.currency,
            difference: undefined,
            unknown: 1,
          },
        }));
      });
    });
  });
}

const FINAL = ['effective', 'paid'];

/** By month, publisher and currency, over one report. */
export function payouts(life: Life): Record<string, unknown>[] {
  const now = DAYS.flatMap((dt) => (recordsAt(life, dt, NOW) ?? []).map((record) => ({ dt, ...record })));
  const gone = reversed(life);
  const idOf = (of: { dt: string; publisher: string | null; currency: string | null }) =>
    JSON.stringify([of.dt.slice(0, 7), of.publisher, of.currency]);
  const aged = AGES.map((age) => movedSince(life, age, idOf));
  const ids = new Set([...now.map(idOf), ...gone.map(idOf), ...aged.flatMap((of) => [...of.keys()])]);
  const all = [...ids].map((id) => {
    const [month, publisher_id, currency] = JSON.parse(id);
    const own = now.filter((record) => idOf(record) === id);
    const lost = gone.filter((each) => idOf(each) === id);
    const counted = (of: (record: Known) => boolean) => sumOf(own.filter(of).map((record) => record.counted));
    const isFinal = ({ state }: Known) => state !== null && FINAL.includes(state);
    const voids = own.filter(({ state }) => state === 'void');
    return {
      ...{ month, publisher_id, currency },
      publisher_name:
        greatest(own.map(({ dt, name }) => (name === null ? null : `${dt}${name}`)))?.slice(10) ?? null,
      ...{
        commission: counted(() => true),
        final: counted(isFinal),
        may_change: counted((each) => !isFinal(each)),
      },
      void: sumOf(voids.map(({ commission }) => commission)),
      reversed_after_paid: sumOf(lost.map(({ difference }) => difference)),
      unknown_amounts:
        [...own, ...voids].filter(
          ({ state, ...each }) => (state === 'void' ? each.commission : each.counted) === undefined,
        ).length -
        voids.filter(({ commission }) => commission === undefined).length +
        lost.reduce((sum, { unknown }) => sum + unknown, 0),
      ...Object.fromEntries(AGES.map((age, index) => [`changed_after_${age}`, aged[index]?.get(id)])),
    };
  });
  const isShown = (row: Record<string, unknown>) =>
    now.some((record) => idOf(record) === JSON.stringify([row.month, row.publisher_id, row.currency])) ||
    row.reversed_after_paid !== 0n ||
    AGES.some((age) => row[`changed_after_${age}`] !== undefined);
  return all.filter(isShown);
}

/** The share of what counted at an age that changed later, by row; only for months that are that old. */
function movedSince(
  life: Life,
  age: number,
  idOf: (of: { dt: string; publisher: string | null; currency: string | null }) => string,
) {
  const rows = new Map<string, { counted: (bigint | undefined)[]; moved: (bigint | undefined)[] }>();
  for (const dt of DAYS) {
    const [year = 0, month = 0] = dt.split('-').map(Number);
    const isOld = NOW - Date.UTC(year, month, 1) >= age * DAY;
    const [then, now] = [recordsAt(life, dt, endOf(dt, life.zone, age)), recordsAt(life, dt, NOW)];
    if (!isOld || !then || !now) continue;
    const sides = [
      ...then.map((record) => ({ record, sign: 1n })),
      ...now.map((record) => ({ record, sign: -1n })),
    ];
    const partOf = ({ record }: { record: Known }) =>
      JSON.stringify([record.key, record.publisher, record.currency]);
    for (const own of Map.groupBy(sides, partOf).values()) {
      const { publisher = null, currency = null } = own[0]?.record ?? {};
      const id = idOf({ dt, publisher, currency });
      const row = rows.get(id) ?? { counted: [], moved: [] };
      rows.set(id, row);
      row.counted.push(...own.filter(({ sign }) => sign === 1n).map(({ record }) => record.counted));
      const difference = sumOf(own.map(({ record, sign }) => record.counted && record.counted * sign));
      row.moved.push(difference === undefined ? undefined : difference < 0n ? -difference : difference);
    }
  }
  const shares = [...rows].map(([id, { counted, moved }]) => {
    const [whole, part] = [sumOf(counted), sumOf(moved)];
    return [
      id,
      whole !== undefined && part !== undefined && whole > 0n ? Number(part) / Number(whole) : undefined,
    ] as const;
  });
  return new Map(shares);
}
