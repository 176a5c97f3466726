import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLocalStore } from '../../../shared/adapters/local/store.ts';
import type { ObjectStore } from '../../../shared/ports.ts';
import { temporaryFolder } from '../../fakes/temporary-folder.ts';

const KEY = 'ledger/order_list/acme/2026-03.json';

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let folder: string;
let store: ObjectStore;
beforeEach(async () => {
  temporary = await temporaryFolder();
  folder = temporary.path;
  store = openLocalStore(folder);
});
afterEach(() => temporary.remove());

async function write(...texts: string[]): Promise<void> {
  for (const text of texts) {
    const { etag } = (await store.get(KEY)) ?? {};
    const outcome = await store.put(
      KEY,
      Buffer.from(text),
      etag === undefined ? { ifAbsent: true } : { ifMatch: etag },
    );
    expect(outcome).not.toBe('conflict');
  }
}

async function keptTexts(): Promise<[key: string, text: string][]> {
  const found: [string, string][] = [];
  for await (const version of store.noncurrent?.list('ledger/') ?? [])
    found.push([version.key, `${Buffer.from((await store.noncurrent?.get(version)) ?? [])}`]);
  return found;
}

const kept = () => join(folder, '.previous', KEY);

describe('a folder', () => {
  it('keeps the bytes that the last replacement replaced, with the time when they were written', async () => {
    await write('one', 'two');
    const { mtime } = statSync(join(folder, KEY));
    await write('three');
    expect(await keptTexts()).toEqual([[KEY, 'two']]);
    const [version] = await Array.fromAsync(store.noncurrent?.list(KEY) ?? []);
    expect(version).toMatchObject({ bytes: 3, modifiedAt: mtime });
  });

  it('keeps what it kept if a write loses a race', async () => {
    await write('one', 'two');
    expect(await store.put(KEY, Buffer.from('three'), { ifMatch: 'another' })).toBe('conflict');
    expect(await store.put(KEY, Buffer.from('three'), { ifAbsent: true })).toBe('conflict');
    expect(await keptTexts()).toEqual([[KEY, 'one']]);
  });

  it('lists kept bytes as noncurrent only, and forgets them with their object', async () => {
    await write('one', 'two');
    expect(await Array.fromAsync(store.list(''), ({ key }) => key)).toEqual([KEY]);
    await store.delete([KEY]);
    expect(await keptTexts()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name === '.previous')).toEqual([]);
  });

  it('forgets kept bytes alone', async () => {
    await write('one', 'two');
    await store.noncurrent?.delete(await Array.fromAsync(store.noncurrent.list('ledger/')));
    expect([existsSync(kept()), `${Buffer.from((await store.get(KEY))?.body ?? [])}`]).toEqual([
      false,
      'two',
    ]);
  });

  it('I4: a process that died after it kept the bytes leaves a lake that the next write heals', async () => {
    await write('one', 'two');
    rmSync(kept());
    linkSync(join(folder, KEY), kept());
    await write('three');
    expect([await keptTexts(), `${Buffer.from((await store.get(KEY))?.body ?? [])}`]).toEqual([
      [[KEY, 'two']],
      'three',
    ]);
  });

  it.each(['.previous', '.previous/ledger'])(
    'follows no link that somebody planted as %s',
    async (planted) => {
      await write('one', 'two');
      const elsewhere = join(folder, 'elsewhere');
      const target = join(elsewhere, planted === '.previous' ? KEY : KEY.slice('ledger/'.length));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, 'precious');
      rmSync(join(folder, planted), { recursive: true });
      symlinkSync(elsewhere, join(folder, planted));
      const refused = { code: 'link_in_lake' };
      await expect(write('three')).rejects.toMatchObject(refused);
      const version = { key: KEY, version: 'previous', bytes: 3, modifiedAt: new Date() };
      await expect(store.noncurrent?.delete([version])).rejects.toMatchObject(refused);
      await expect(store.delete([KEY])).rejects.toMatchObject(refused);
      expect(readdirSync(dirname(target))).toEqual(['2026-03.json']);
      expect(statSync(target).size).toBe('precious'.length);
    },
  );
});
