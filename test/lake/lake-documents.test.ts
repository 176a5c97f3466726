import { describe, expect, it } from '@jest/globals';
import type { HasRecentWrites, CasDocument } from '../../shared/lake/cas-document.ts';
import { type LakeDocuments, createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { NO_STATE } from '../../shared/lake/report-state.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { clicks } from '../../shared/reports/clicks.ts';
import { orders } from '../../shared/reports/orders.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';

function documentsOf(store: ObjectStore = memoryStore(), random = 0.5, writer = 'id') {
  const slept: number[] = [];
  let ids = 0;
  const documents = createLakeDocuments({
    store,
    newId: () => `${writer}-${++ids}`,
    clock: { sleep: async (ms) => void slept.push(ms), wallMs: () => 0 },
    random: () => random,
  });
  return { documents, slept };
}

const bodyOf = ({ objects }: MemoryStore, key: string) => `${Buffer.from(objects.get(key)?.body ?? [])}`;

/** Every document of a lake: how it is opened, its key, and its content before the first write. */
const all: {
  document: string;
  open: (documents: LakeDocuments) => CasDocument<HasRecentWrites>;
  key: string;
  empty: object;
}[] = [
  {
    document: 'the ledger of a month',
    open: (documents) => documents.ledger(orders, 'acme', '2026-01'),
    key: 'ledger/order_list/acme/2026-01.json',
    empty: { report: 'order_list', brand: 'acme', month: '2026-01', days: {} },
  },
  {
    document: 'the progress of an attempt',
    open: (documents) => documents.progress('order_list', 'acme', '2026-01-05', 'a1'),
    key: 'raw/order_list/brand=acme/dt=2026-01-05/a1/progress.json',
    empty: { queryFingerprint: '', slices: [] },
  },
  {
    document: 'the schema of a table',
    open: (documents) => documents.schema(orders),
    key: 'schema/orders.json',
    empty: { table: 'orders' },
  },
  {
    document: 'the lease of a brand',
    open: (documents) => documents.lease('acme'),
    key: 'leases/acme.json',
    empty: {},
  },
];

describe('a document of the lake', () => {
  it.each(all)('lies at its own key, and is empty at first: $document', async ({ open, key, empty }) => {
    const store = memoryStore();
    const { documents } = documentsOf(store);
    expect(await open(documents).cached()).toMatchObject({ ...empty, recentWrites: [] });
    const written = await open(documents).update((current) => ({ ...current }));
    expect(written).toMatchObject({ ...empty, recentWrites: ['id-1'] });
    expect([...store.objects.keys()]).toEqual([key]);
    expect(bodyOf(store, key)).toBe(`${JSON.stringify({ version: 2, ...written })}\n`);
  });

  it('is a lease of an unknown run, or a state without hints, if it is damaged', async () => {
    const store = memoryStore();
    for (const key of ['leases/acme.json', 'ledger/acme/state.json'])
      await store.put(key, Buffer.from('{}'), { ifAbsent: true });
    const { documents } = documentsOf(store);
    expect((await documents.lease('acme').cached()).holder).toEqual({ name: 'an unknown run' });
    expect(await documents.reportState('order_list', 'acme').cached()).toEqual(NO_STATE);
  });

  it('contains the states of all reports of a brand, and several changes at once are one write', async () => {
    const store = memoryStore();
    const { documents } = documentsOf(store);
    const states = ['order_list', 'clicks_list'].map((report) => documents.reportState(report, 'acme'));
    await Promise.all(states.map((state) => state.update((current) => ({ ...current, policy: 'p1' }))));
    const reports = { order_list: { ...NO_STATE, policy: 'p1' }, clicks_list: { ...NO_STATE, policy: 'p1' } };
    const written = { version: 2, reports, recentWrites: ['id-1'] };
    expect(JSON.parse(bodyOf(store, 'ledger/acme/state.json'))).toEqual(written);
  });

  it('I5: keeps the states of other reports that another process writes at the same time', async () => {
    const store = memoryStore();
    const writes = ['order_list', 'clicks_list'].map((report) => {
      const state = documentsOf(store, 0.5, report).documents.reportState(report, 'acme');
      return state.update((current) => ({ ...current, policy: report }));
    });
    await Promise.all(writes);
    const { reports } = JSON.parse(bodyOf(store, 'ledger/acme/state.json'));
    expect(reports).toMatchObject({
      order_list: { policy: 'order_list' },
      clicks_list: { policy: 'clicks_list' },
    });
  });

  it('has one object for each ledger, which sees what was written through it', async () => {
    const { documents } = documentsOf();
    const ledger = documents.ledger(orders, 'acme', '2026-01');
    await ledger.update((current) => ({ ...current, days: { '2026-01-05': {} } }));
    expect(documents.ledger(orders, 'acme', '2026-01')).toBe(ledger);
    for (const [report, brand, month] of [
      [clicks, 'acme', '2026-01'],
      [orders, 'globex', '2026-01'],
      [orders, 'acme', '2026-02'],
    ] as const)
      expect((await documents.ledger(report, brand, month).cached()).days).toEqual({});
  });

  it('waits with full jitter after each lost race', async () => {
    const memory = memoryStore();
    let puts = 0;
    const store = {
      ...memory,
      put: async (...put: Parameters<typeof memory.put>) => (++puts <= 2 ? 'conflict' : memory.put(...put)),
    } as const;
    const { documents, slept } = documentsOf(store, 0.25);
    await documents.schema(orders).update((current) => ({ ...current }));
    expect(slept).toEqual([5, 10]);
    expect(memory.objects.size).toBe(1);
  });
});
