import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openGlueIceberg } from '../../../shared/adapters/aws/glue-iceberg.ts';
import { ORDERS } from '../../contracts/catalog.ts';
import { icebergContract } from '../../contracts/iceberg.ts';
import { startGlueServer } from '../../fakes/glue-server.ts';
import { memoryStore } from '../../fakes/memory-store.ts';

async function started() {
  const server = await startGlueServer('reports');
  const store = { ...memoryStore(), url: 's3://bucket/lake' };
  return {
    server,
    store,
    open: () => openGlueIceberg('reports', store, server.client),
    close: async () => {
      server.client.destroy();
      await server.close();
    },
  };
}

icebergContract('Glue', started);

describe('an Iceberg table in Glue', () => {
  let glue: Awaited<ReturnType<typeof started>>;
  beforeEach(async () => {
    glue = await started();
  });
  afterEach(() => glue.close());
  const load = () => glue.open().load('orders');
  const tableNow = () => glue.server.icebergTables.get('orders')?.table;
  const replace = async (text: string) => (await load()).replace(Buffer.from(text), ORDERS);

  it('names its metadata, the previous metadata, and its columns with the partition columns', async () => {
    await replace('first');
    const { metadata_location: first } = Object(tableNow()?.Parameters);
    await replace('second');
    expect(first).toMatch(
      /^s3:\/\/bucket\/lake\/iceberg\/orders\/metadata\/v1-[0-9a-f]{16}\.metadata\.json$/,
    );
    expect(tableNow()).toMatchObject({
      TableType: 'EXTERNAL_TABLE',
      Parameters: {
        table_type: 'ICEBERG',
        metadata_location: expect.stringMatching(/\/v2-/),
        previous_metadata_location: first,
      },
      StorageDescriptor: {
        Location: 's3://bucket/lake/iceberg/orders',
        Columns: [
          { Name: 'brand', Type: 'string' },
          { Name: 'dt', Type: 'string' },
          { Name: 'transid', Type: 'string' },
          { Name: 'amount', Type: 'decimal(38,9)' },
        ],
      },
    });
    expect(glue.server.tables.size).toBe(0);
  });

  it.each([
    ['of an engine', 's3://bucket/lake/iceberg/orders/metadata/00002-8e1d.metadata.json'],
    ['of another lake', 's3://other/iceberg/orders/metadata/v2-0123456789abcdef.metadata.json'],
    ['that is gone', 's3://bucket/lake/iceberg/orders/metadata/v2-0123456789abcdef.metadata.json'],
    ['outside its folder', 's3://bucket/lake/iceberg/orders/metadata/../../../ledger/acme/state.json'],
    ['that is missing', undefined],
  ])(
    'that points at metadata %s has none of ours, and the next commit replaces it',
    async (_name, location) => {
      await replace('ours');
      const stored = glue.server.icebergTables.get('orders');
      if (stored)
        stored.table = {
          ...stored.table,
          Parameters: location === undefined ? {} : { metadata_location: location },
        };
      expect((await load()).metadata).toBeUndefined();
      expect(await replace('again')).toBe(true);
      expect(`${Buffer.from((await load()).metadata ?? [])}`).toBe('again');
    },
  );

  it('needs its database, and explains how to create it', async () => {
    const { client } = glue.server;
    const elsewhere = openGlueIceberg('other', glue.store, client);
    await expect((await elsewhere.load('orders')).replace(Buffer.from('x'), ORDERS)).rejects.toThrow(
      'the Glue database other_iceberg or the table in it does not exist. Deploy the stack, or create it: aws glue create-database',
    );
  });

  it('reports the missing permissions if it cannot be read', async () => {
    glue.server.faults.deny = 'not authorized to perform: glue:GetTable';
    await expect(load()).rejects.toThrow(
      'Reading the Iceberg table orders in the Glue database reports_iceberg',
    );
  });
});
