/**
 * What the interface document leaves open, as this service may read it. Every member is one open point;
 * its values are the readings that a client has to live with.
 */
export interface Reading {
  method: 'POST' | 'GET';
  /** Is `end_time` inside the range? */
  endTime: 'inclusive' | 'exclusive';
  /** Is a range whose ends are equal served or refused? */
  equalTimes: 'served' | 'refused';
  timestampUnit: 'seconds' | 'milliseconds';
  /** What `endCursor` says of the last record, and what `first` makes of it. */
  position: Position;
  /** `honest`: true when records follow. `full page`: true when the page is full, so that the last may bring nothing new. */
  hasNextPage: 'honest' | 'full page';
  firstPage: 0 | 1;
  /** What comes after the last numbered page. */
  pastEnd: 'empty' | 'repeat';
  /** Where orders and transactions lie in `data`. */
  listKey: 'list' | 'records';
  /** `capped`: the service gives about half of what was asked. */
  pages: 'as asked' | 'capped';
  /** Does `end_date` mean its whole day, or its midnight, and is that instant inside? */
  endDate: 'whole_day' | 'midnight, excluded' | 'midnight, included';
  cursorEnd: 'null' | 'absent' | 'empty';
  /** Where `cursor` of the transactions is. */
  cursorAt: 'data' | 'top';
  /** How click details are answered. */
  detail: 'record' | 'list' | 'wrapped';
}

export type Position =
  | 'next'
  | 'last from 0, again'
  | 'last from 0, after it'
  | 'last from 1, again'
  | 'padded'
  | 'opaque'
  | 'beyond 2^53';

/** The reading that every other scenario is told under. */
export const plainReading: Reading = {
  method: 'POST',
  endTime: 'inclusive',
  equalTimes: 'served',
  timestampUnit: 'seconds',
  position: 'next',
  hasNextPage: 'honest',
  firstPage: 1,
  pastEnd: 'empty',
  listKey: 'list',
  pages: 'as asked',
  endDate: 'whole_day',
  cursorEnd: 'null',
  cursorAt: 'data',
  detail: 'record',
};

/** The settings that the design asks an operator for under this reading; everything else is found out. */
export function settingsFor(reading: Reading): Record<string, string | number> {
  return {
    method: reading.method,
    timestampUnit: reading.timestampUnit,
    firstPage: reading.firstPage,
    endDate: reading.endDate === 'whole_day' ? 'whole_day' : 'midnight',
    ...(reading.equalTimes === 'refused' && { endTime: reading.endTime }),
  };
}

type Point = keyof Reading;
type Values = { readonly [P in Point]: readonly Reading[P][] };

const values: Values = {
  method: ['POST', 'GET'],
  endTime: ['inclusive', 'exclusive'],
  equalTimes: ['served', 'refused'],
  timestampUnit: ['seconds', 'milliseconds'],
  position: [
    'next',
    'last from 0, again',
    'last from 0, after it',
    'last from 1, again',
    'padded',
    'opaque',
    'beyond 2^53',
  ],
  hasNextPage: ['honest', 'full page'],
  firstPage: [1, 0],
  pastEnd: ['empty', 'repeat'],
  listKey: ['list', 'records'],
  pages: ['as asked', 'capped'],
  endDate: ['whole_day', 'midnight, excluded', 'midnight, included'],
  cursorEnd: ['null', 'absent', 'empty'],
  cursorAt: ['data', 'top'],
  detail: ['record', 'list', 'wrapped'],
};

/** The points that meet in one report: only their values are paired. */
const meetings: readonly (readonly Point[])[] = [
  ['method', 'endTime', 'equalTimes', 'timestampUnit', 'position', 'hasNextPage', 'pages'],
  ['method', 'endTime', 'equalTimes', 'timestampUnit', 'firstPage', 'pastEnd', 'listKey', 'pages'],
  ['method', 'endDate', 'listKey', 'pages', 'cursorEnd', 'cursorAt'],
  ['method', 'detail'],
];

/** Those with most values first: the others then have something to pair with. */
const points = (Object.keys(values) as Point[]).sort((a, b) => values[b].length - values[a].length);

/** Every two of the given values that meet in a report. */
function pairsOf(given: { readonly [P in Point]?: readonly unknown[] }): string[] {
  const told = (point: Point) => (given[point] ?? []).map((value) => `${point}: ${value}`);
  const pairs = meetings.flatMap((meeting) =>
    meeting.flatMap((one, index) =>
      meeting
        .slice(index + 1)
        .flatMap((other) => told(one).flatMap((a) => told(other).map((b) => `${a}; ${b}`))),
    ),
  );
  return [...new Set(pairs)];
}

export const allPairs: readonly string[] = pairsOf(values);

export const pairsIn = (reading: Partial<Reading>): string[] =>
  pairsOf(Object.fromEntries(Object.entries(reading).map(([point, value]) => [point, [value]])));

/** Fills in what a reading leaves open, each time by the value that covers most of the open pairs; ties go by turns. */
function completed(started: Partial<Reading>, open: ReadonlySet<string>, turn: number): Reading {
  const covered = (reading: Partial<Reading>) => pairsIn(reading).filter((pair) => open.has(pair)).length;
  let reading = started;
  for (const point of points.filter((point) => started[point] === undefined)) {
    const skipped = turn % values[point].length;
    const inTurn = [...values[point].slice(skipped), ...values[point].slice(0, skipped)];
    const candidates = inTurn.map((value) => ({ ...reading, [point]: value }));
    reading = candidates.reduce((best, next) => (covered(next) > covered(best) ? next : best));
  }
  return { ...plainReading, ...reading };
}

/** The plain reading, and as many more as it takes until all pairs are covered. */
function covering(): Reading[] {
  const found = [plainReading];
  const open = new Set(allPairs);
  for (const pair of pairsIn(plainReading)) open.delete(pair);
  for (let [pair] = open; pair !== undefined; [pair] = open) {
    const parts = pair.split('; ');
    const started = points.flatMap((point) =>
      values[point].filter((value) => parts.includes(`${point}: ${value}`)).map((value) => [point, value]),
    );
    const reading = completed(Object.fromEntries(started), open, found.length);
    for (const met of pairsIn(reading)) open.delete(met);
    found.push(reading);
  }
  return found;
}

/** What a reading holds differently from the plain one. */
function nameOf(reading: Reading): string {
  const differing = points.filter((point) => reading[point] !== plainReading[point]);
  return differing.map((point) => `${point}: ${reading[point]}`).join('; ') || 'the plain reading';
}

/** Readings under which every two values that meet in a report do meet. */
export const readings: readonly { name: string; reading: Reading }[] = covering().map((reading) => ({
  name: nameOf(reading),
  reading,
}));
