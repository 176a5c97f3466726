import fc from 'fast-check';
import { anyCharacter } from '../fixtures/texts.ts';

/*
 * Generates JSON texts of lists of records, from the plainest to what is only just allowed, and changes their bytes at
 * random. `npm run fuzz` draws a million of them, the tests a few hundred.
 */

const literals = [
  '0',
  '-0',
  '1',
  '-12',
  '1.5',
  '1.10',
  '12.50',
  '0.1',
  '-0.0',
  '1e2',
  '1E+2',
  '1e-7',
  '1e400',
  '-1e-400',
];
const digits = [
  '9007199254740991',
  '9007199254740993',
  '0.30000000000000004',
  '123456789012345678901234567890.123456789',
];
const strings = [
  '""',
  '"a"',
  '"US"',
  '"é😀"',
  '"\\ud83d"',
  '"\\ud83d\\ude00"',
  '"\\\\"',
  '"\\""',
  '"\\/\\b\\f\\n\\r\\t"',
  '"\\u0000"',
  '"\u2028"',
  '"]},{"',
  '"\\\\\\""',
  '"\u007f"',
];

const space = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(' ', '\n', '\t', '\r', ' \n\t\r ') },
);
const scalar = fc.oneof(
  fc.constantFrom(...literals, ...digits, ...strings, 'null', 'true', 'false'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.tuple(fc.bigInt(), fc.nat()).map(([whole, cents]) => `${whole}.${cents}`),
  fc.string({ unit: anyCharacter, maxLength: 8 }).map((text) => JSON.stringify(text)),
);
/** Few keys, so that records share them, and one key begins with another. */
const plainKeys = [
  '',
  'a',
  'ab',
  'abc',
  'id',
  'list',
  'data',
  '0',
  '10',
  'é',
  '😀',
  'constructor',
  'toJSON',
  'length',
];
const plainKey = fc.oneof(
  fc.constantFrom(...plainKeys),
  fc.string({ unit: 'grapheme-ascii', maxLength: 3 }).filter(isPlain),
);
const oddKey = fc.constantFrom(
  '__proto__',
  '_duplicates',
  '\\n',
  '\\u0061',
  '\\"',
  '\\\\',
  'a\\/b',
  '\\ud83d',
);

const { nested } = fc.letrec<{ nested: string }>((tie) => ({
  nested: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    joined('[', fc.array(tie('nested'), { maxLength: 3 }), ']'),
    // Below the fields of a record any key is allowed, even repeatedly.
    joined('{', fc.array(entry(fc.oneof(plainKey, oddKey), tie('nested')), { maxLength: 3 }), '}'),
  ),
}));
const value = fc.oneof({ weight: 6, arbitrary: scalar }, { weight: 1, arbitrary: nested });

const plainRecord = recordOf(
  fc.uniqueArray(fc.tuple(plainKey, value), { selector: ([key]) => key, maxLength: 6 }),
);
/** Records that mostly have the same fields in the same order, like a service's records. */
const likeRecords = fc
  .tuple(
    fc.uniqueArray(plainKey, { maxLength: 6 }),
    fc.array(fc.array(fc.option(value), { minLength: 6, maxLength: 6 }), { maxLength: 6 }),
  )
  .map(([keys, rows]) =>
    rows.map(
      (row) => `{${keys.flatMap((key, index) => (row[index] ? [`"${key}":${row[index]}`] : [])).join(',')}}`,
    ),
  );
const oddRecord = recordOf(fc.array(fc.tuple(fc.oneof(plainKey, oddKey), value), { maxLength: 6 }));

/** A list of records without anything unusual. */
export const plainLists: fc.Arbitrary<string> = fc.oneof(
  joined('[', fc.array(plainRecord, { maxLength: 6 }), ']'),
  likeRecords.map((records) => `[${records.join(',')}]`),
);

/** A list that may have repeated, escaped and special keys, deep values, and elements that are not records. */
export const oddLists: fc.Arbitrary<string> = fc.oneof(
  joined('[', fc.array(fc.oneof(plainRecord, oddRecord), { maxLength: 5 }), ']'),
  joined(
    '[',
    fc.array(fc.oneof({ weight: 4, arbitrary: plainRecord }, { weight: 1, arbitrary: value }), {
      maxLength: 5,
    }),
    ']',
  ),
  fc
    .constantFrom(50, 97, 98, 99, 995, 996, 1_000)
    .map((depth) => `[{"a":${'['.repeat(depth)}${']'.repeat(depth)}}]`),
);

/** A response of a service, or nearly one. */
export const envelopes: fc.Arbitrary<string> = joined(
  '{',
  fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: entry(
          fc.constant('data'),
          joined(
            '{',
            fc.array(
              entry(
                fc.oneof(fc.constantFrom('list', 'items', 'count', 'cursor'), oddKey),
                fc.oneof(
                  { weight: 3, arbitrary: plainLists },
                  { weight: 1, arbitrary: oddLists },
                  { weight: 3, arbitrary: value },
                ),
              ),
              { maxLength: 3 },
            ),
            '}',
          ),
        ),
      },
      {
        weight: 1,
        arbitrary: entry(
          fc.constantFrom('data', 'code', 'msg', 'cursor', 'd\\u0061ta', '__proto__', '_duplicates'),
          value,
        ),
      },
      { weight: 1, arbitrary: entry(fc.constantFrom('code', 'msg', 'cursor'), value) },
    ),
    { maxLength: 3 },
  ),
  '}',
);

/** Changes a byte, removes some, inserts some of its own or JSON's own characters, or cuts the rest off. */
export interface Mutation {
  kind: 'change' | 'remove' | 'insert' | 'repeat' | 'cut';
  /** The position of the change, as a share of the bytes. */
  place: number;
  length: number;
  text: string;
}

export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'remove', 'insert', 'repeat', 'cut'),
    place: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    length: fc.integer({ min: 1, max: 6 }),
    text: fc.oneof(
      fc.constantFrom(
        ...'{}[]:,"\\-+.eE0123456789 \n\t/utfn'.split(''),
        '\u0000',
        '\u001f',
        '\u00a0',
        '\ufeff',
        '""',
        '":',
        '",',
        '\\u',
        '01',
        'null',
        '{}',
        '//',
      ),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 2 }),
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The bytes after these mutations, which may no longer be JSON or UTF-8. */
export function mutated(bytes: Buffer, changes: readonly Mutation[]): Buffer {
  return changes.reduce((before, { kind, place, length, text }) => {
    const at = Math.floor(place * (before.length + 1));
    const [head, tail] = [before.subarray(0, at), before.subarray(at)];
    const behind = {
      change: [Buffer.from(text), tail.subarray(1)],
      remove: [tail.subarray(length)],
      insert: [Buffer.from(text), tail],
      repeat: [tail.subarray(0, length * 4), tail],
      cut: [],
    };
    return Buffer.concat([head, ...behind[kind]]);
  }, bytes);
}

function recordOf(entries: fc.Arbitrary<[string, string][]>): fc.Arbitrary<string> {
  return fc.tuple(entries, fc.array(space, { minLength: 12, maxLength: 12 })).map(([pairs, spaces]) => {
    const gap = (index: number) => spaces[index % spaces.length] ?? '';
    const members = pairs.map(
      ([key, text], index) =>
        `${gap(index)}"${key}"${gap(index + 3)}:${gap(index + 5)}${text}${gap(index + 7)}`,
    );
    return `{${members.join(',')}${pairs.length === 0 ? gap(11) : ''}}`;
  });
}

function entry(key: fc.Arbitrary<string>, text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(key, space, space, text)
    .map(([name, before, behind, held]) => `"${name}"${before}:${behind}${held}`);
}

function joined(open: string, items: fc.Arbitrary<string[]>, close: string): fc.Arbitrary<string> {
  return fc
    .tuple(items, space, space)
    .map(
      ([texts, before, behind]) => `${open}${before}${texts.join(`${behind},${before}`)}${behind}${close}`,
    );
}

function isPlain(key: string): boolean {
  return JSON.stringify(key) === `"${key}"`;
}
