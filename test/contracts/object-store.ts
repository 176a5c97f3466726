import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ObjectStore } from '../../shared/ports.ts';

export interface StoreUnderTest {
  /** Opens the same lake again, as another run does. */
  open(): ObjectStore;
  close(): Promise<void>;
}

const MEGABYTE = 1024 * 1024;

/** The behaviour that the core needs of every object store: each adapter's test runs it. */
export function objectStoreContract(name: string, setUp: () => Promise<StoreUnderTest>): void {
  describe(`${name} as an object store`, () => {
    let underTest: StoreUnderTest;
    let store: ObjectStore;
    let other: ObjectStore;

    beforeEach(async () => {
      underTest = await setUp();
      store = underTest.open();
      other = underTest.open();
    });
    afterEach(() => underTest.close());

    it('returns what was put, with the same etag', async () => {
      const etag = etagOf(await store.put('ledger/a/2026-01.json', text('one'), { ifAbsent: true }));
      expect(await read(other, 'ledger/a/2026-01.json')).toEqual({ body: 'one', etag });
    });

    it('has only objects that were put', async () => {
      await store.put('ledger/a/b', text('one'), { ifAbsent: true });
      expect(await store.get('ledger/none')).toBeUndefined();
      expect(await store.get('ledger/a')).toBeUndefined();
      expect(await store.get('ledger/a/b/c')).toBeUndefined();
    });

    it.each([
      ['ifAbsent over an object', { ifAbsent: true }],
      ['an etag that is out of date', { ifMatch: '"5d41402abc4b2a76b9719d911017c592"' }],
    ] as const)('leaves the object unchanged and returns a conflict for %s', async (_name, precondition) => {
      await store.put('key', text('one'), { ifAbsent: true });
      expect(await other.put('key', text('two'), precondition)).toBe('conflict');
      expect((await read(store, 'key'))?.body).toBe('one');
    });

    it('returns a conflict for an etag without an object', async () => {
      expect(await store.put('a/key', text('one'), { ifMatch: '"any"' })).toBe('conflict');
      expect(await keys(store, '')).toEqual([]);
    });

    it('replaces the version that the precondition names, once', async () => {
      const first = etagOf(await store.put('key', text('one'), { ifAbsent: true }));
      const second = etagOf(await other.put('key', text('two'), { ifMatch: first }));
      expect(second).not.toBe(first);
      expect(await store.put('key', text('three'), { ifMatch: first })).toBe('conflict');
      expect(await read(store, 'key')).toEqual({ body: 'two', etag: second });
    });

    it.each([
      ['to create', undefined],
      ['to replace', 'before'],
    ])('I5: lets one writer win a race %s', async (_name, before) => {
      const first = before && etagOf(await store.put('key', text(before), { ifAbsent: true }));
      const precondition = first ? { ifMatch: first } : ({ ifAbsent: true } as const);
      const racers = ['0', '1', '2', '3', '4', '5', '6', '7'];
      const outcomes = await Promise.all(
        racers.map((body, index) => (index % 2 ? store : other).put('key', text(body), precondition)),
      );
      const winners = racers.filter((_body, index) => outcomes[index] !== 'conflict');
      expect(winners).toHaveLength(1);
      expect((await read(store, 'key'))?.body).toBe(winners[0]);
    });

    it('has no object after its deletion, and accepts a new one', async () => {
      await store.put('a/b/key', text('one'), { ifAbsent: true });
      await store.delete(['a/b/key', 'a/b/none', 'none/at/all']);
      expect(await store.get('a/b/key')).toBeUndefined();
      expect(await store.put('a/b/key', text('two'), { ifAbsent: true })).not.toBe('conflict');
      await store.delete([]);
    });

    it.each([
      ['nothing', []],
      ['a few bytes', [3]],
      ['an empty piece', [0, 2, 0]],
      ['more than one part', [6 * MEGABYTE, 1, 7 * MEGABYTE, 65_537]],
    ])('I4: shows a stream of %s whole, when it is finished', async (_name, sizes) => {
      const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1));
      const writer = store.create('snapshots/t/part-0000.parquet');
      for (const piece of pieces) {
        await writer.write(piece);
        expect(await keys(other, '')).toEqual([]);
      }
      await writer.finish();
      const found = await other.get('snapshots/t/part-0000.parquet');
      expect(Buffer.concat(pieces).equals(found?.body ?? text('none'))).toBe(true);
    });

    it.each([
      ['before the first byte', []],
      ['after a few bytes', [3]],
      ['after several parts', [6 * MEGABYTE, 6 * MEGABYTE]],
    ])('I4: shows nothing of a stream that is aborted %s', async (_name, sizes) => {
      const writer = store.create('a/key');
      for (const size of sizes) await writer.write(Buffer.alloc(size));
      await writer.abort();
      await writer.abort();
      expect(await keys(store, '')).toEqual([]);
    });

    it('keeps a finished stream that is aborted afterwards', async () => {
      const writer = store.create('a/key');
      await writer.write(text('one'));
      await writer.finish();
      await writer.abort();
      expect((await read(store, 'a/key'))?.body).toBe('one');
    });

    it('lists all keys with a prefix in the order of their bytes, over any number of pages', async () => {
      const all = [
        'a-b',
        'a/b',
        'a/b-c',
        'a/b/c',
        'a/b/d',
        'a/bc',
        'a0',
        'b/c',
        'brand=x/dt=2026-01-01/k',
        'ä',
        'ｚ',
        '😀',
      ];
      const shared = all.filter((key) => !['a/b'].includes(key));
      for (const key of shared.toReversed()) await store.put(key, text(key), { ifAbsent: true });
      expect(await keys(store, '')).toEqual(shared);
      expect(await keys(store, 'a/b')).toEqual(['a/b-c', 'a/b/c', 'a/b/d', 'a/bc']);
      expect(await keys(store, 'a/b/')).toEqual(['a/b/c', 'a/b/d']);
      expect(await keys(store, 'brand=x/dt=2026-01-01/')).toEqual(['brand=x/dt=2026-01-01/k']);
      expect(await keys(store, 'none/')).toEqual([]);
    });

    it('lists size and time', async () => {
      await store.put('a/key', text('four'), { ifAbsent: true });
      const [found] = await Array.fromAsync(store.list('a/'));
      expect(found).toEqual({ key: 'a/key', bytes: 4, modifiedAt: expect.anything() });
      expect(Math.abs(Date.now() - Number(found?.modifiedAt))).toBeLessThan(60_000);
    });

    it.each([
      ['in the middle', 2, 5, '234'],
      ['at the start', 0, 1, '0'],
      ['beyond the end', 8, 20, '89'],
      ['after the end', 10, 20, ''],
      ['of no bytes', 4, 4, ''],
    ])('reads a range %s', async (_name, start, end, expected) => {
      await store.put('key', text('0123456789'), { ifAbsent: true });
      expect(Buffer.from(await store.range('key', start, end)).toString()).toBe(expected);
    });

    it('fails as transient for a range of a missing object, because the document that names it is then read again', async () => {
      await expect(store.range('none', 0, 1)).rejects.toMatchObject({
        kind: 'transient',
        code: 'object_missing',
      });
    });

    it.each(['', '/a', 'a/', 'a//b', '../a', 'a/../../b', 'a/./b', '.lock', 'a/.tmp', 'a\0b', 'a\\b'])(
      'refuses the key %j',
      async (key) => {
        const bad = { kind: 'bug', code: 'bad_key' };
        await expect(async () => store.get(key)).rejects.toMatchObject(bad);
        await expect(async () => store.put(key, text(''), { ifAbsent: true })).rejects.toMatchObject(bad);
        await expect(async () => store.range(key, 0, 1)).rejects.toMatchObject(bad);
        await expect(async () => store.delete([key])).rejects.toMatchObject(bad);
        await expect(async () => store.create(key)).rejects.toMatchObject(bad);
      },
    );

    it.each(['/', '../base/', 'a/../', '.tmp/', 'a//'])('refuses the prefix %j', async (prefix) => {
      await expect(async () => keys(store, prefix)).rejects.toMatchObject({ code: 'bad_key' });
    });
  });
}

function text(content: string): Uint8Array {
  return Buffer.from(content);
}

function etagOf(outcome: { etag: string } | 'conflict'): string {
  if (outcome === 'conflict') throw new Error('expected the write to happen');
  return outcome.etag;
}

async function read(store: ObjectStore, key: string) {
  const found = await store.get(key);
  return found && { body: Buffer.from(found.body).toString(), etag: found.etag };
}

async function keys(store: ObjectStore, prefix: string): Promise<string[]> {
  return (await Array.fromAsync(store.list(prefix))).map(({ key }) => key);
}
