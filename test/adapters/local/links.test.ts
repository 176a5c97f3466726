import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLocalCatalog } from '../../../shared/adapters/local/catalog.ts';
import { createLocalRunRegistry } from '../../../shared/adapters/local/lock.ts';
import { openLocalStore } from '../../../shared/adapters/local/store.ts';
import { newId } from '../../../shared/adapters/system-clock.ts';
import type { Precondition } from '../../../shared/ports.ts';
import { mayChange } from '../../../shared/adapters/others-may.ts';
import { LOCAL_CATALOG_FOLDER, dayPartition, versionKey } from '../../../shared/lake/paths.ts';
import { ORDERS } from '../../contracts/catalog.ts';
import { temporaryFolder } from '../../fakes/temporary-folder.ts';

const OLD = new Date(Date.now() - 40 * 24 * 60 * 60 * 1000);
const KEY = 'raw/order_list/brand=acme/dt=2026-01-31/a1/progress.json';
const DAY = dayPartition('acme', '2026-01-31');

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: string;
/** The documents of another user, or of this user outside the lake. */
let docs: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  [lake, docs] = [join(folder.path, 'lake'), join(folder.path, 'docs')];
  mkdirSync(lake);
  mkdirSync(docs);
});
afterEach(() => {
  jest.restoreAllMocks();
  return folder.remove();
});

function old(path: string, text = 'precious'): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  utimesSync(path, OLD, OLD);
  return path;
}

function contents(): string[] {
  const found = readdirSync(docs, { recursive: true, withFileTypes: true });
  return found
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() ? `${path} ${readFileSync(path, 'utf8')}` : path;
    })
    .sort();
}

/** Each way to reach the object, with a store of its own or with one that is open. */
const operationsOf = (open: typeof openLocalStore, condition: Precondition = { ifAbsent: true }) => [
  () => open(lake).get(KEY),
  () => open(lake).range(KEY, 0, 1),
  () => open(lake).put(KEY, Buffer.from('y'), condition),
  () => Array.fromAsync(open(lake).list('raw/')),
  () => open(lake).delete([KEY]),
];

const put = (key = KEY) => openLocalStore(lake).put(key, Buffer.from('x'), { ifAbsent: true });

describe('R13: a link in a lake', () => {
  it.each(['.tmp', 'query-results', 'raw', '.runs', '.lock', '.other'])(
    'with the name %s is refused by every operation of the store, and its files stay',
    async (name) => {
      await put();
      await put('query-results/q.csv');
      if (existsSync(join(lake, name))) renameSync(join(lake, name), join(folder.path, 'away'));
      old(join(docs, randomUUID()));
      old(join(docs, 'order_list/brand=acme/dt=2026-01-31/a1/progress.json'));
      const before = contents();
      const link = join(lake, name);
      symlinkSync(docs, link);
      for (const operation of operationsOf(openLocalStore))
        await expect(operation()).rejects.toMatchObject({
          kind: 'config',
          code: 'link_in_lake',
          message: expect.stringContaining(`rm -- ${link}.`),
        });
      expect(contents()).toEqual(before);
    },
  );

  const PARTS = KEY.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));

  it.each(PARTS)('at %s is followed by no operation of a store that is open', async (part) => {
    const store = openLocalStore(lake);
    const { etag } = Object.assign({ etag: '' }, await put());
    const away = join(docs, 'away');
    renameSync(join(lake, part), away);
    symlinkSync(away, join(lake, part));
    const before = contents();
    for (const operation of operationsOf(() => store, { ifMatch: etag }))
      await expect(operation()).rejects.toMatchObject({
        code: 'link_in_lake',
        message: expect.stringContaining(join(lake, part)),
      });
    expect(contents()).toEqual(before);
  });

  it.each(PARTS.slice(0, -1))('at %s leads no new object out of the lake', async (part) => {
    const store = openLocalStore(lake);
    await store.get(KEY);
    mkdirSync(dirname(join(lake, part)), { recursive: true });
    symlinkSync(docs, join(lake, part));
    await expect(store.put(KEY, Buffer.from(''), { ifAbsent: true })).rejects.toMatchObject({
      code: 'link_in_lake',
    });
    const writer = store.create(KEY);
    await writer.write(Buffer.from(''));
    await expect(writer.finish()).rejects.toMatchObject({ code: 'link_in_lake' });
    expect(contents()).toEqual([]);
  });

  it('is not written through by the first object of a lake, if it leads nowhere yet', async () => {
    symlinkSync(join(docs, 'new'), join(lake, '.lock'));
    await expect(createLocalRunRegistry(lake).register('r1')).resolves.toBeDefined();
    await expect(put()).rejects.toMatchObject({ code: 'link_in_lake' });
    expect(contents()).toEqual([]);
  });

  it('with a name of nobody stays as it is', async () => {
    symlinkSync(docs, join(lake, 'docs'));
    old(join(docs, 'a'));
    const store = openLocalStore(lake);
    await store.put(KEY, Buffer.from('x'), { ifAbsent: true });
    expect(await Array.fromAsync(store.list('raw/'), ({ key }) => key)).toEqual([KEY]);
    await expect(Array.fromAsync(store.list(''))).rejects.toMatchObject({ code: 'link_in_lake' });
    await expect(store.delete(['docs/a'])).rejects.toMatchObject({ code: 'link_in_lake' });
    expect(contents()).toHaveLength(1);
  });

  it('may lead to the lake itself, because a person names that link', async () => {
    symlinkSync(lake, join(folder.path, 'link'));
    const store = openLocalStore(join(folder.path, 'link'));
    await store.put(KEY, Buffer.from('x'), { ifAbsent: true });
    expect(await Array.fromAsync(store.list(''), ({ key }) => key)).toEqual([KEY]);
    await store.delete([KEY]);
    expect(readdirSync(lake).sort()).toEqual(['.lock', '.tmp']);
  });
});

describe('R13: the temporary files of a lake', () => {
  it('are removed after a day, and nothing else is', async () => {
    const ours = [randomUUID(), `${newId()}.duckdb`, `${newId()}.duckdb.wal`];
    const others = ['thesis.doc', `${randomUUID()}.txt`, `x${randomUUID()}`, `${newId()}.duckdb.bak`];
    const fresh = randomUUID();
    for (const name of [...ours, ...others]) old(join(lake, '.tmp', name));
    writeFileSync(join(lake, '.tmp', fresh), '');
    const inside = randomUUID();
    old(join(lake, '.tmp', inside, randomUUID()));
    utimesSync(join(lake, '.tmp', inside), OLD, OLD);
    const linked = randomUUID();
    symlinkSync(old(join(docs, 'a')), join(lake, '.tmp', linked));
    lutimesSync(join(lake, '.tmp', linked), OLD, OLD);
    await put();
    expect(readdirSync(join(lake, '.tmp')).sort()).toEqual([...others, fresh, inside, linked].sort());
    expect(contents()).toEqual([`${join(docs, 'a')} precious`]);
  });

  // Only root can give a file away.
  (process.getuid?.() === 0 ? it : it.skip)('of another user stay', async () => {
    const name = randomUUID();
    chownSync(old(join(lake, '.tmp', name)), 4242, 4242);
    await put();
    expect(readdirSync(join(lake, '.tmp'))).toEqual([name]);
  });
});

describe('R13: the lock of a lake', () => {
  it('is no hard link to a database, into which SQLite would write a planted journal', async () => {
    const file = join(docs, 'app.db');
    const database = new DatabaseSync(file);
    database.exec("CREATE TABLE t (a); INSERT INTO t VALUES ('planted')");
    copyFileSync(file, join(docs, 'planted.db'));
    database.exec("UPDATE t SET a = 'precious'");
    database.close();
    const planted = new DatabaseSync(join(docs, 'planted.db'));
    planted.exec('PRAGMA cache_size = 1; BEGIN; CREATE TABLE z AS SELECT hex(randomblob(30000))');
    copyFileSync(join(docs, 'planted.db-journal'), join(lake, '.lock-journal'));
    planted.close();
    linkSync(file, join(lake, '.lock'));
    const before = readFileSync(file);
    await expect(openLocalStore(lake).delete([KEY])).rejects.toMatchObject({ code: 'lake_unlockable' });
    expect(readFileSync(file)).toEqual(before);
  });
});

describe('R13: the runs of a lake', () => {
  it('are not looked up through a link', async () => {
    const file = old(join(docs, 'app.db'), '');
    symlinkSync(docs, join(lake, '.runs'));
    const runs = createLocalRunRegistry(lake);
    await expect(runs.isDead('app.db')).rejects.toMatchObject({ code: 'link_in_lake' });
    await expect(runs.register('r1')).rejects.toMatchObject({ code: 'link_in_lake' });
    expect([existsSync(file), readdirSync(docs)]).toEqual([true, ['app.db']]);
  });

  it('never remove a file with contents, which is no lock', async () => {
    mkdirSync(join(lake, '.runs'));
    const file = join(lake, '.runs/app.db');
    const database = new DatabaseSync(file);
    database.exec('CREATE TABLE precious (a)');
    database.close();
    expect(await createLocalRunRegistry(lake).isDead('app.db')).toBe(false);
    expect(existsSync(file)).toBe(true);
  });
});

describe('R13: the current files of a lake', () => {
  const links = () => join(lake, LOCAL_CATALOG_FOLDER, 'orders/brand=acme/dt=2026-01-31');
  const publish = (id: string) => {
    old(join(lake, versionKey('orders', 'acme', '2026-01-31', id)), id);
    return createLocalCatalog(lake).setSnapshot(ORDERS, DAY, id);
  };

  it.each(['', '/orders', '/orders/brand=acme', '/orders/brand=acme/dt=2026-01-31'])(
    'are neither changed nor listed through a link at current%s',
    async (part) => {
      await publish('s1');
      const at = join(lake, `${LOCAL_CATALOG_FOLDER}${part}`);
      renameSync(at, join(docs, 'away'));
      symlinkSync(join(docs, 'away'), at);
      const before = contents();
      const catalog = createLocalCatalog(lake);
      for (const operation of [
        () => publish('s2'),
        () => catalog.removePartition('orders', DAY),
        () => catalog.snapshotsByPartition('orders', dayPartition('acme', '2026-01-31')),
        () => catalog.snapshotsByPartition('orders', [['brand', 'acme']]),
        () =>
          catalog.snapshotsByPartition('orders', [['brand', 'acme']], {
            from: '2026-01-01',
            to: '2026-12-31',
          }),
      ])
        await expect(operation()).rejects.toMatchObject({
          code: 'link_in_lake',
          message: expect.stringContaining(at),
        });
      expect(contents()).toEqual(before);
    },
  );

  it('are never a link to another file', async () => {
    const object = join(lake, versionKey('orders', 'acme', '2026-01-31', 's1'));
    mkdirSync(dirname(object), { recursive: true });
    symlinkSync(old(join(docs, 'secret.parquet')), object);
    await expect(createLocalCatalog(lake).setSnapshot(ORDERS, DAY, 's1')).rejects.toMatchObject({
      code: 'link_in_lake',
    });
  });

  it('leave files of other names where they are', async () => {
    await publish('s1');
    const others = ['notes.txt', 'a copy.parquet', 'sub/s9.parquet', '.hidden.parquet'];
    for (const name of others) old(join(links(), name));
    await publish('s2');
    await createLocalCatalog(lake).removePartition('orders', DAY);
    expect(others.map((name) => existsSync(join(links(), name)))).toEqual([true, true, true, true]);
    expect(existsSync(join(links(), 's2.parquet'))).toBe(false);
  });
});

describe('R13: a lake that others may change', () => {
  const refused = (path: string) => ({
    kind: 'config',
    code: 'lake_open_to_all',
    message: expect.stringContaining(`run: chmod o-w ${path}`),
  });

  it('is refused by every write if all users may, and read', async () => {
    await put();
    chmodSync(lake, 0o777);
    await expect(put('other')).rejects.toMatchObject(refused(lake));
    await expect(openLocalStore(lake).delete([KEY])).rejects.toMatchObject(refused(lake));
    await expect(createLocalRunRegistry(lake).register('r1')).rejects.toMatchObject(refused(lake));
    await expect(createLocalCatalog(lake).removePartition('orders', DAY)).rejects.toMatchObject(
      refused(lake),
    );
    expect(await openLocalStore(lake).get(KEY)).toBeDefined();
  });

  it('is refused if all users may replace it', async () => {
    chmodSync(folder.path, 0o777);
    await expect(put()).rejects.toMatchObject(refused(folder.path));
    chmodSync(folder.path, 0o1777);
    await expect(put()).resolves.toHaveProperty('etag');
  });

  it.each([
    [0o700, undefined],
    [0o755, undefined],
    [0o2775, { who: 'a group', nextStep: expect.stringMatching(/^run: chmod g-w /) }],
    [0o1777, { who: 'another user' }],
    [0o777, { who: 'others' }],
  ])('has the mode %i', (mode, intruders) => {
    chmodSync(lake, mode);
    const found = mayChange(lake);
    if (intruders) expect(found).toMatchObject(intruders);
    else expect(found).toBeUndefined();
  });

  // Only root can give a folder away.
  (process.getuid?.() === 0 ? it : it.skip)('is used if it belongs to a colleague', async () => {
    chownSync(lake, 4242, 0);
    chownSync(folder.path, 4243, 0);
    expect(mayChange(lake)).toBeUndefined();
    jest.spyOn(process, 'getuid').mockReturnValue(4243);
    expect(mayChange(lake)).toMatchObject({
      who: 'another user',
      why: `${lake} belongs to the user 4242`,
    });
    await expect(put()).resolves.toHaveProperty('etag');
  });
});
