import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Column, typeSpec } from '../../../shared/column-types.ts';
import { CodedRows } from '../../../shared/lake/table/coded-rows.ts';
import { fieldsOfKey } from '../../../shared/records/record-list.ts';
import type { Row } from '../../../shared/lake/table/columns.ts';
import { openCodedFile } from '../../../shared/lake/table/coded-columns.ts';
import {
  type ChangedRecord,
  type TableDiff,
  diffTables,
  openVersion,
} from '../../../shared/lake/table/diff.ts';
import { Digest, RowHashes } from '../../../shared/lake/table/digest.ts';
import { writeParquet } from '../../../shared/lake/table/parquet.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { CollectingWriter, readable } from './parquet-files.ts';

const COLUMNS: readonly Column[] = [
  { name: 'id', type: 'string', field: 'id' },
  { name: 'status', type: 'string', field: 'status' },
  { name: 'amount', type: 'decimal(38,9)', field: 'amount' },
  { name: 'clicks', type: 'bigint', field: 'clicks' },
  { name: 'share', type: 'double', field: 'share' },
  { name: 'is_new', type: 'boolean', field: 'isNew' },
  { name: 'sold', type: 'date', field: 'sold' },
  { name: 'created', type: 'timestamp', field: 'created' },
  { name: '_rescued', type: 'string' },
  { name: '_synced_at', type: 'timestamp' },
];
const VERSION = { columns: COLUMNS, groupRows: 1000 };

/** A row by column as text, from which both sides of a comparison are built. */
type Texts = Record<string, string>;

async function fileOf(rows: readonly Row[], { columns, groupRows } = VERSION): Promise<Uint8Array> {
  const output = new CollectingWriter();
  const file = writeParquet(output, columns);
  for (let from = 0; from < rows.length; from += groupRows) {
    const group = new CodedRows();
    for (const row of rows.slice(from, from + groupRows)) group.append(row);
    await file.writeGroup(group.rows, group.columns());
  }
  await file.finish();
  return output.bytes();
}

async function diff(
  before: readonly Row[],
  after: readonly Row[],
  key?: string | readonly string[],
  versions = { before: VERSION, after: VERSION },
  limits?: { records: number; bytes: number },
): Promise<TableDiff> {
  const [one, other] = [await fileOf(before, versions.before), await fileOf(after, versions.after)];
  const keys = key === undefined ? [] : [fieldsOfKey(key)];
  return diffTables(await openVersion(readable(one)), await openVersion(readable(other)), keys, limits);
}

function textsOf(row: Row, columns: readonly Column[] = COLUMNS): Texts {
  return Object.fromEntries(
    columns.flatMap(({ name, type }) => {
      const value = row[name];
      if (value === null || value === undefined || name === '_synced_at') return [];
      return [[name, typeSpec(type).texts(value)[0]]];
    }),
  );
}

function identity(texts: Texts): string {
  return JSON.stringify(Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The slow twin: plain maps over rows. */
function twin(before: readonly Row[], after: readonly Row[], key: string | undefined) {
  const [left, right] = [before, after].map((rows) => rows.map((row) => textsOf(row)));
  const isKey = (rows: readonly Texts[] = []) =>
    key !== undefined &&
    rows.every((row) => row[key] !== undefined) &&
    new Set(rows.map((row) => row[key])).size === rows.length;
  if (key !== undefined && isKey(left) && isKey(right)) {
    const old = new Map(left?.map((row) => [row[key], identity(row)]));
    const now = new Map(right?.map((row) => [row[key], identity(row)]));
    return {
      added: [...now.keys()].filter((id) => !old.has(id)).length,
      removed: [...old.keys()].filter((id) => !now.has(id)).length,
      altered: [...now].filter(([id, row]) => old.has(id) && old.get(id) !== row).length,
    };
  }
  const counts = new Map<string, number>();
  for (const row of right ?? []) counts.set(identity(row), (counts.get(identity(row)) ?? 0) + 1);
  for (const row of left ?? []) counts.set(identity(row), (counts.get(identity(row)) ?? 0) - 1);
  const sum = (values: number[]) => values.reduce((total, value) => total + Math.max(0, value), 0);
  return { added: sum([...counts.values()]), removed: sum([...counts.values()].map((n) => -n)), altered: 0 };
}

/** Applies the changes to a version. @param inverted to get the version before the changes */
function applied(rows: readonly Row[], { records = [] }: TableDiff, inverted = false): string[] {
  const kept = rows.map((row) => textsOf(row));
  for (const change of inverted ? records.map(inverse) : records) {
    if (change.what === 'altered') {
      const at = kept.findIndex((row) => row.id === change.key);
      const row = { ...kept[at] };
      for (const { name, before, after } of change.columns) {
        if ((row[name] ?? null) !== before) throw new Error('an altered value was not there');
        if (after === null) delete row[name];
        else row[name] = after;
      }
      kept[at] = row;
    } else {
      for (let copy = 0; copy < change.copies; copy += 1) {
        const at = kept.findIndex((row) => identity(row) === identity(change.record));
        if (change.what === 'added') kept.push(change.record);
        else if (at >= 0) kept.splice(at, 1);
        else throw new Error('a removed row was not there');
      }
    }
  }
  return kept.map(identity).sort();
}

function inverse(change: ChangedRecord): ChangedRecord {
  if (change.what === 'altered')
    return {
      ...change,
      columns: change.columns.map(({ name, before, after }) => ({ name, before: after, after: before })),
    };
  return { ...change, what: change.what === 'added' ? 'removed' : 'added' };
}

const instant = fc.constantFrom(0, 1, 86_400_000).map((ms) => new Date(ms));
const row: fc.Arbitrary<Row> = fc.record(
  {
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    status: fc.constantFrom('new', 'void', '', 'größer', '😀'),
    amount: fc.constantFrom(0n, 1n, -1n, 12_345_678_901_234_567_890_123_456_789n, -(10n ** 37n)),
    clicks: fc.constantFrom(0n, 1n, -1n, 9_007_199_254_740_993n),
    share: fc.constantFrom(0, 1.5, -0.1),
    is_new: fc.boolean(),
    sold: fc.constantFrom(new Date(0), new Date(-86_400_000)),
    created: instant,
    _rescued: fc.constantFrom('{"a":1}', '{"a":2}'),
    _synced_at: instant,
  },
  { requiredKeys: [] },
);
const anyRows = fc.array(row, { maxLength: 12 });
/** Rows with unique ids. */
const keyedRows = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), row), { selector: ([id]) => id })
  .map((rows) => rows.map(([id, held]) => ({ ...held, id })));
const groupRows = fc.constantFrom(1, 3, 100).map((rows) => ({ columns: COLUMNS, groupRows: rows }));

describe('the difference of two versions', () => {
  it.each([
    ['with a key that identifies rows', keyedRows],
    ['of any rows', anyRows],
  ])(
    'counts the same as plain maps, and leads from one version to the other and back, %s',
    async (_name, rows) => {
      const property = fc.asyncProperty(
        rows,
        rows,
        fc.constantFrom('id', undefined),
        fc.record({ before: groupRows, after: groupRows }),
        async (before, after, key, versions) => {
          const found = await diff(before, after, key, versions);
          const { records: _records, ...counts } = found;
          expect(counts).toEqual(twin(before, after, key));
          expect(applied(before, found)).toEqual(after.map((each) => identity(textsOf(each))).sort());
          expect(applied(after, found, true)).toEqual(before.map((each) => identity(textsOf(each))).sort());
        },
      );
      await fc.assert(property, runs(30));
    },
  );

  it('names the columns of an altered record, with the values of both versions', async () => {
    const before = [
      { id: 'a', status: 'new', amount: 1_500_000_000n, clicks: 1n },
      { id: 'b', status: 'new' },
    ];
    const after = [
      { id: 'b', status: 'new', _synced_at: new Date(0) },
      { id: 'a', status: 'void', amount: 1_250_000_000n, is_new: true },
    ];
    expect((await diff(before, after, 'id')).records).toEqual([
      {
        what: 'altered',
        key: 'a',
        columns: [
          { name: 'status', before: 'new', after: 'void' },
          { name: 'amount', before: '1.500000000', after: '1.250000000' },
          { name: 'clicks', before: '1', after: null },
          { name: 'is_new', before: null, after: 'true' },
        ],
      },
    ]);
  });

  it('counts equal rows of a report without a key as often as they occur', async () => {
    const rows = (count: number) => Array.from({ length: count }, () => ({ status: 'new' }));
    expect(await diff(rows(5), [...rows(2), { status: 'void' }])).toEqual({
      added: 1,
      removed: 3,
      altered: 0,
      records: [
        { what: 'removed', key: undefined, copies: 3, record: { status: 'new' } },
        { what: 'added', key: undefined, copies: 1, record: { status: 'void' } },
      ],
    });
  });

  it.each<[string, Row[], Row[]]>([
    ['two rows before have it', [{ id: 'a' }, { id: 'a', status: 'x' }], [{ id: 'a', status: 'y' }]],
    ['two rows after have it, one of them unchanged', [{ id: 'a' }], [{ id: 'a' }, { id: 'a', status: 'y' }]],
    ['a row lacks it', [{ id: 'a' }, { status: 'x' }], [{ id: 'a', status: 'y' }]],
    ['no row has it', [{ status: 'x' }], [{ status: 'y' }]],
  ])('does not use a field as key if %s', async (_name, before, after) => {
    const found = await diff(before, after, 'id');
    expect(found.altered).toBe(0);
    expect(found.records?.some(({ key }) => key !== undefined)).toBe(false);
  });

  it('treats a column that only one version has as NULL in the other', async () => {
    const grown = {
      columns: [...COLUMNS, { name: 'sku', type: 'string', field: 'sku' } as const],
      groupRows: 9,
    };
    const before = [{ id: 'a' }, { id: 'b' }];
    const after = [{ id: 'a', sku: 'B0' }, { id: 'b' }];
    const { records } = await diff(before, after, 'id', { before: VERSION, after: grown });
    expect(records).toEqual([
      { what: 'altered', key: 'a', columns: [{ name: 'sku', before: null, after: 'B0' }] },
    ]);
  });

  it('treats a value of another type as another value', async () => {
    const typed = {
      columns: [
        { name: 'id', type: 'string' },
        { name: 'clicks', type: 'string' },
      ] as const,
      groupRows: 9,
    };
    const { records } = await diff([{ id: 'a', clicks: 1n }], [{ id: 'a', clicks: '1' }], 'id', {
      before: VERSION,
      after: typed,
    });
    expect(records).toEqual([
      { what: 'altered', key: 'a', columns: [{ name: 'clicks', before: '1', after: '1' }] },
    ]);
  });

  it.each([
    ['records', { records: 2, bytes: 1_000 }],
    ['bytes', { records: 10, bytes: 20 }],
  ])('counts more %s than can be listed, and lists no record', async (_name, limits) => {
    const [before, after] = [
      ['void', 'void', 'x'],
      ['effective', 'effective', 'x', 'y'],
    ].map((statuses) => statuses.map((status, index) => ({ id: String(index), status })));
    const versions = { before: VERSION, after: VERSION };
    expect(await diff(before ?? [], after ?? [], 'id', versions, limits)).toEqual({
      added: 1,
      removed: 0,
      altered: 2,
    });
    expect((await diff(before ?? [], after ?? [], 'id', versions)).records).toHaveLength(3);
  });
});

describe('a snapshot read by columns', () => {
  it('has the digest and the row hashes that it was written with', async () => {
    const property = fc.asyncProperty(anyRows, groupRows, async (rows, version) => {
      const hashes = new RowHashes();
      const written = new Digest(hashes);
      for (const each of rows) written.add(each);
      const read = await openVersion(readable(await fileOf(rows, version)));
      expect(read.digest).toBe(written.value());
      expect(read.hashes.all()).toEqual(hashes.all());
      expect(read.file.rows).toBe(rows.length);
    });
    await fc.assert(property, runs(20));
  });

  it('has the values of pages that each end after a megabyte', async () => {
    const rows = Array.from({ length: 40 }, (_, index) =>
      index % 3 === 0 ? {} : { status: `${index}`.padEnd(100_000, 'x'), clicks: BigInt(index) },
    );
    const { file } = await openVersion(readable(await fileOf(rows)));
    const found: (string | undefined)[] = [];
    for await (const { columns } of file.groups(['status']))
      for (const [, column] of columns)
        for (const code of column.codes)
          found.push(
            'texts' in column && code > 0
              ? column.texts.bytes.toString('utf8', column.texts.starts[code], column.texts.ends[code])
              : undefined,
          );
    expect(found).toEqual(rows.map(({ status }) => status));
  });

  it('reads only the row groups that have the requested rows', async () => {
    const bytes = await fileOf([{ id: 'a' }, { id: 'b' }, { id: 'c' }], { columns: COLUMNS, groupRows: 1 });
    const ranges: number[] = [];
    const file = await openCodedFile({
      ...readable(bytes),
      async range(start, end) {
        ranges.push(end - start);
        return bytes.subarray(start, end);
      },
    });
    const footer = ranges.length;
    const groups = await Array.fromAsync(file.groups(undefined, (from, to) => from <= 1 && 1 < to));
    expect(groups.map(({ firstRow, rows }) => [firstRow, rows])).toEqual([[1, 1]]);
    expect(ranges.slice(footer)).toHaveLength(1);
  });
});
