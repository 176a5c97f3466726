import { describe, expect, it } from '@jest/globals';
import { LAKE_FORMAT, inOurFormat } from '../../shared/lake/lake-format.ts';
import { FORMAT_KEY } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { countingLake } from '../fakes/counting-lake.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';

const LEDGER = 'ledger/order_list/acme/2026-01.json';
const ours = `{"format":${LAKE_FORMAT}}\n`;

async function lakeWith(objects: Record<string, string>) {
  const store = memoryStore();
  for (const [key, text] of Object.entries(objects)) await put(store, key, text);
  return store;
}

function put(store: ObjectStore, key: string, text = '{}') {
  return store.put(key, Buffer.from(text), { ifAbsent: true });
}

function contents({ objects }: Awaited<ReturnType<typeof lakeWith>>) {
  return Object.fromEntries([...objects].map(([key, { body }]) => [key, Buffer.from(body).toString()]));
}

const operations: Record<string, (store: ObjectStore) => Promise<unknown>> = {
  get: (store) => store.get(LEDGER),
  range: (store) => store.range(LEDGER, 0, 1),
  list: (store) => Array.fromAsync(store.list('')),
  put: (store) => put(store, 'leases/acme.json'),
  delete: (store) => store.delete([LEDGER]),
  async create(store) {
    const writer = store.create('snapshots/x');
    await writer.write(Buffer.from('x'));
    await writer.finish();
  },
  finish: (store) => store.create('snapshots/x').finish(),
};
const writes = ['put', 'delete', 'create', 'finish'];

describe('a lake of another format', () => {
  const lakes: [what: string, objects: Record<string, string>, found: string][] = [
    [
      'a later number',
      { [FORMAT_KEY]: `{"format":${LAKE_FORMAT + 1}}`, [LEDGER]: '{}' },
      `has format ${LAKE_FORMAT + 1};`,
    ],
    [
      'the number of the version before',
      { [FORMAT_KEY]: `{"format":${LAKE_FORMAT - 1}}` },
      `has format ${LAKE_FORMAT - 1};`,
    ],
    ['ledgers without a number', { [LEDGER]: '{}' }, `has ledger/, but no document ${FORMAT_KEY}`],
    ['snapshots without a number', { 'snapshots/a': '' }, `has snapshots/, but no document ${FORMAT_KEY}`],
    ['raw records without a number', { 'raw/a': '' }, `has raw/, but no document ${FORMAT_KEY}`],
    ['closes without a number', { 'closes/a': '' }, `has closes/, but no document ${FORMAT_KEY}`],
    ['a damaged document', { [FORMAT_KEY]: '{"form' }, `has no format number in ${FORMAT_KEY}`],
    ['a number that is a text', { [FORMAT_KEY]: '{"format":"2"}' }, `has no format number in ${FORMAT_KEY}`],
  ];
  for (const [what, objects, found] of lakes)
    it.each(Object.entries(operations))(
      `${what}: %s is refused with the number, ours and the next step, and nothing is changed`,
      async (_name, operate) => {
        const store = await lakeWith(objects);
        const guarded = inOurFormat(store);
        for (let time = 0; time < 2; time += 1)
          await expect(operate(guarded)).rejects.toMatchObject({
            kind: 'config',
            code: 'other_format',
            message: expect.stringMatching(
              new RegExp(
                `memory://lake ${found}.*this program reads and writes format ${LAKE_FORMAT}\\..* Next step: `,
              ),
            ),
          });
        expect(contents(store)).toEqual(objects);
      },
    );
});

describe('a lake without ledgers', () => {
  it.each(writes)('gets the number before the first object: %s', async (name) => {
    const store = await lakeWith({});
    await operations[name]?.(inOurFormat(store));
    expect([...store.objects.keys()][0]).toBe(FORMAT_KEY);
    expect(contents(store)).toMatchObject({ [FORMAT_KEY]: ours });
  });

  it('is read without being written', async () => {
    const store = await lakeWith({});
    expect(await inOurFormat(store).get(LEDGER)).toBeUndefined();
    expect(await Array.fromAsync(inOurFormat(store).list(''))).toEqual([]);
    expect(contents(store)).toEqual({});
  });

  it('gets one number if two runs begin at the same time', async () => {
    const store = await lakeWith({});
    const [first, second] = [inOurFormat(store), inOurFormat(store)];
    await Promise.all([put(first, 'a'), put(second, 'b')]);
    expect(contents(store)).toEqual({ [FORMAT_KEY]: ours, a: '{}', b: '{}' });
  });

  it('is not written if a later program numbers it first', async () => {
    const store = await lakeWith({});
    const guarded = inOurFormat(store);
    await guarded.get(LEDGER);
    await put(store, FORMAT_KEY, '{"format":9}');
    await expect(put(guarded, 'a')).rejects.toMatchObject({ code: 'other_format' });
    expect(contents(store)).toEqual({ [FORMAT_KEY]: '{"format":9}' });
  });

  it('is accepted if another run writes number and ledger between two requests of the check', async () => {
    const store = await lakeWith({});
    const racing: ObjectStore = {
      ...store,
      async *list(prefix) {
        await put(inOurFormat(store), LEDGER);
        yield* store.list(prefix);
      },
    };
    const keys = (await Array.fromAsync(inOurFormat(racing).list(''))).map(({ key }) => key);
    expect(keys).toEqual([FORMAT_KEY, LEDGER]);
  });
});

describe('the check', () => {
  it('is one request in parallel with the first read, however many reads follow', async () => {
    const counting = countingLake({
      store: await lakeWith({ [FORMAT_KEY]: ours, [LEDGER]: '{}' }),
      catalog: memoryCatalog(),
    });
    const guarded = inOurFormat(counting.store);
    await Promise.all([guarded.get(LEDGER), guarded.get(LEDGER), put(guarded, 'a')]);
    await guarded.get(LEDGER);
    await guarded.delete([LEDGER]);
    const { [`get ${FORMAT_KEY}`]: checks, ...others } = counting.taken();
    expect(checks).toBe(1);
    expect(others).toEqual({ [`get ${LEDGER}`]: 3, 'put a': 1, delete: 1 });
  });

  it('is repeated after a request that failed', async () => {
    const store = await lakeWith({ [FORMAT_KEY]: ours, [LEDGER]: '{}' });
    let isDown = true;
    const failing = {
      ...store,
      get: (key: string) => (isDown ? Promise.reject(new Error('down')) : store.get(key)),
    };
    const guarded = inOurFormat(failing);
    await expect(put(guarded, 'a')).rejects.toThrow('down');
    isDown = false;
    expect(await put(guarded, 'a')).not.toBe('conflict');
  });
});
