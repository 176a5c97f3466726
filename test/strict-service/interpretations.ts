/**
 * Lists the open points of docs/explanation/interface.md. Every member is an open point; its values are the
 * interpretations that a client has to cope with.
 */
export interface Interpretation {
  method: 'POST' | 'GET';
  /** Is `end_time` inside the range? */
  endTime: 'inclusive' | 'exclusive';
  /** Is a range whose ends are equal served or refused? */
  equalTimes: 'served' | 'refused';
  timestampUnit: 'seconds' | 'milliseconds';
  /** What `endCursor` is, and where the page of such a `first` begins. */
  position: Position;
  /** `honest`: true when records follow. `full page`: true whenever the page is full, so that the next may be empty. */
  hasNextPage: 'honest' | 'full page';
  firstPage: 0 | 1;
  /** What a page number after the last page returns. */
  pastEnd: 'empty' | 'repeat';
  /** The key of orders and transactions in `data`. */
  listKey: 'list' | 'records';
  /** `capped`: the service returns at most half of the requested page size. */
  pages: 'as requested' | 'capped';
  /** Does `end_date` mean its whole day, or its midnight, and is that instant inside? */
  endDate: 'whole_day' | 'midnight, excluded' | 'midnight, included';
  cursorEnd: 'null' | 'absent' | 'empty';
  /** Where `cursor` of the transactions is. */
  cursorAt: 'data' | 'top';
  /** The shape of click details in `data`. */
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

/** The interpretation of every scenario that does not choose another. */
export const plainInterpretation: Interpretation = {
  method: 'POST',
  endTime: 'inclusive',
  equalTimes: 'served',
  timestampUnit: 'seconds',
  position: 'next',
  hasNextPage: 'honest',
  firstPage: 1,
  pastEnd: 'empty',
  listKey: 'list',
  pages: 'as requested',
  endDate: 'whole_day',
  cursorEnd: 'null',
  cursorAt: 'data',
  detail: 'record',
};

/** The settings that an operator has to make under this interpretation; the pipeline detects everything else. */
export function settingsFor(interpretation: Interpretation): Record<string, string | number> {
  return {
    method: interpretation.method,
    timestampUnit: interpretation.timestampUnit,
    firstPage: interpretation.firstPage,
    endDate: interpretation.endDate === 'whole_day' ? 'whole_day' : 'midnight',
    ...(interpretation.equalTimes === 'refused' && { endTime: 'inclusive' }),
  };
}

type Point = keyof Interpretation;
type Values = { readonly [P in Point]: readonly Interpretation[P][] };

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
  pages: ['as requested', 'capped'],
  endDate: ['whole_day', 'midnight, excluded', 'midnight, included'],
  cursorEnd: ['null', 'absent', 'empty'],
  cursorAt: ['data', 'top'],
  detail: ['record', 'list', 'wrapped'],
};

/** The points that concern the same report: only their values are paired. */
const meetings: readonly (readonly Point[])[] = [
  ['method', 'endTime', 'equalTimes', 'timestampUnit', 'position', 'hasNextPage', 'pages'],
  ['method', 'endTime', 'equalTimes', 'timestampUnit', 'firstPage', 'pastEnd', 'listKey', 'pages'],
  ['method', 'endDate', 'listKey', 'pages', 'cursorEnd', 'cursorAt'],
  ['method', 'detail'],
];

/** The points with the most values come first, so that the other points can be paired with them. */
const points = (Object.keys(values) as Point[]).sort((a, b) => values[b].length - values[a].length);

/** Every pair of the given values that concerns one report. */
function pairsOf(given: { readonly [P in Point]?: readonly unknown[] }): string[] {
  const named = (point: Point) => (given[point] ?? []).map((value) => `${point}: ${value}`);
  const pairs = meetings.flatMap((meeting) =>
    meeting.flatMap((one, index) =>
      meeting
        .slice(index + 1)
        .flatMap((other) => named(one).flatMap((a) => named(other).map((b) => `${a}; ${b}`))),
    ),
  );
  return [...new Set(pairs)];
}

export const allPairs: readonly string[] = pairsOf(values);

export const pairsIn = (interpretation: Partial<Interpretation>): string[] =>
  pairsOf(Object.fromEntries(Object.entries(interpretation).map(([point, value]) => [point, [value]])));

/** Completes an interpretation. Each open point gets the value that covers most of the uncovered pairs; ties rotate. */
function completed(
  started: Partial<Interpretation>,
  open: ReadonlySet<string>,
  rotation: number,
): Interpretation {
  const covered = (interpretation: Partial<Interpretation>) =>
    pairsIn(interpretation).filter((pair) => open.has(pair)).length;
  let interpretation = started;
  for (const point of points.filter((point) => started[point] === undefined)) {
    const skipped = rotation % values[point].length;
    const rotated = [...values[point].slice(skipped), ...values[point].slice(0, skipped)];
    const candidates = rotated.map((value) => ({ ...interpretation, [point]: value }));
    interpretation = candidates.reduce((best, next) => (covered(next) > covered(best) ? next : best));
  }
  return { ...plainInterpretation, ...interpretation };
}

/** The plain interpretation, and as many others as are needed to cover all pairs. */
function covering(): Interpretation[] {
  const found = [plainInterpretation];
  const open = new Set(allPairs);
  for (const pair of pairsIn(plainInterpretation)) open.delete(pair);
  for (let [pair] = open; pair !== undefined; [pair] = open) {
    const parts = pair.split('; ');
    const started = points.flatMap((point) =>
      values[point].filter((value) => parts.includes(`${point}: ${value}`)).map((value) => [point, value]),
    );
    const interpretation = completed(Object.fromEntries(started), open, found.length);
    for (const met of pairsIn(interpretation)) open.delete(met);
    found.push(interpretation);
  }
  return found;
}

/** How an interpretation differs from the plain one. */
function nameOf(interpretation: Interpretation): string {
  const differing = points.filter((point) => interpretation[point] !== plainInterpretation[point]);
  return (
    differing.map((point) => `${point}: ${interpretation[point]}`).join('; ') || 'the plain interpretation'
  );
}

/** A small set of interpretations that covers every pair of values that concerns one report. */
export const interpretations: readonly { name: string; interpretation: Interpretation }[] = covering().map(
  (interpretation) => ({
    name: nameOf(interpretation),
    interpretation,
  }),
);
