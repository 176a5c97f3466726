import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openGlueCatalog } from '../../../shared/adapters/aws/glue-catalog.ts';
import { openS3Lake } from '../../../shared/adapters/aws/s3-lake.ts';
import { closesTable } from '../../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../../shared/catalog/coverage.ts';
import { freshness } from '../../../shared/catalog/freshness.ts';
import { tableColumns } from '../../../shared/lake/described-columns.ts';
import { CHANGE_COLUMNS } from '../../../shared/history/before-table.ts';
import { allViews } from '../../../shared/reports/definition.ts';
import { baseSchema } from '../../../shared/table/columns.ts';
import { reports } from '../../../shared/reports/index.ts';
import { type JsonObject, isJsonObject, parseJson } from '../../../shared/base/json.ts';
import { dayPartition } from '../../../shared/lake/paths.ts';
import type { Catalog, TableShape } from '../../../shared/ports.ts';
import type { View } from '../../../shared/reports/definition.ts';
import { catalogContract, ORDERS, ORDERS_DAILY } from '../../contracts/catalog.ts';
import { startGlueServer } from '../../fakes/glue-server.ts';

const lakeUrl = 's3://bucket/lake';
const LOCATION = `${lakeUrl}/snapshots/orders/`;

catalogContract('Glue, opened with its lake', async () => {
  const server = await startGlueServer('reports');
  const variables = {
    AWS_ENDPOINT_URL_GLUE: server.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  const before = { ...process.env };
  Object.assign(process.env, variables);
  return {
    open() {
      const { catalog } = openS3Lake(lakeUrl, undefined, 'reports');
      if (!catalog) throw new Error('the lake has no catalog');
      return catalog;
    },
    snapshot: async () => {},
    close: async () => {
      process.env = before;
      server.client.destroy();
      await server.close();
    },
  };
});

function withColumns(...names: string[]): TableShape {
  return { ...ORDERS, columns: names.map((name) => ({ name, type: 'string' })) };
}

/** The facts that Trino reads from a view. */
function insideOf(view: JsonObject | undefined) {
  const [, base64 = ''] = /^\/\* Presto View: (\S+) \*\/$/.exec(String(view?.ViewOriginalText)) ?? [];
  return parseJson(Buffer.from(base64, 'base64').toString());
}

describe('Glue', () => {
  const day = dayPartition('acme', '2026-01-31');
  let server: Awaited<ReturnType<typeof startGlueServer>>;
  let catalog: Catalog;

  const viewNow = () => server.tables.get('orders_daily')?.table;
  const tableNow = () => server.tables.get('orders')?.table;
  const columnsNow = () => tableNow()?.StorageDescriptor;

  beforeEach(async () => {
    server = await startGlueServer('reports');
    catalog = openGlueCatalog('reports', lakeUrl, server.client);
  });
  afterEach(async () => {
    server.client.destroy();
    await server.close();
  });

  it('gets external Parquet tables over the snapshots', async () => {
    await catalog.ensureTable(ORDERS);
    expect(tableNow()).toMatchObject({
      Name: 'orders',
      TableType: 'EXTERNAL_TABLE',
      PartitionKeys: [
        { Name: 'brand', Type: 'string' },
        { Name: 'dt', Type: 'string' },
      ],
      StorageDescriptor: {
        Location: LOCATION,
        Columns: [
          { Name: 'transid', Type: 'string' },
          { Name: 'amount', Type: 'decimal(38,9)' },
        ],
        SerdeInfo: { SerializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' },
      },
      // With it, Athena requests only the partitions of a query: by all keys, or by the last key alone.
      Parameters: { 'partition_filtering.enabled': 'true' },
    });
    expect(server.tables.get('orders')?.indexes).toMatchObject([
      { IndexName: 'all', Keys: ['brand', 'dt'] },
      { IndexName: 'time', Keys: ['dt'] },
    ]);
  });

  it('describes columns and partition keys, changes a text once, and leaves partitions and texts of others alone', async () => {
    const described = (...texts: (string | undefined)[]): TableShape => ({
      ...ORDERS,
      columns: ORDERS.columns.map((column, place) => ({
        ...column,
        ...(texts[place] !== undefined && { description: texts[place] }),
      })),
    });
    const comments = () => {
      const { StorageDescriptor: stored } = tableNow() ?? {};
      return isJsonObject(stored) && Array.isArray(stored.Columns)
        ? stored.Columns.map((column) => (isJsonObject(column) ? column.Comment : column))
        : [];
    };
    await catalog.ensureTable(described('The order', 'Its worth'));
    await catalog.setSnapshot(ORDERS, day, 's1');
    const [partitions, version] = [
      JSON.stringify([...(server.tables.get('orders')?.partitions ?? [])]),
      () => server.tables.get('orders')?.version,
    ];
    expect(comments()).toEqual(['The order', 'Its worth']);
    expect(tableNow()).toMatchObject({
      PartitionKeys: [{ Comment: 'The brand' }, { Comment: "The day in the brand's time zone, YYYY-MM-DD" }],
    });
    const before = version();
    await catalog.ensureTable(described('The order', 'Its amount'));
    const after = version();
    expect(after).not.toBe(before);
    for (const same of [described('The order', 'Its amount'), described(), ORDERS])
      await catalog.ensureTable(same);
    expect([comments(), version()]).toEqual([['The order', 'Its amount'], after]);
    expect(JSON.stringify([...(server.tables.get('orders')?.partitions ?? [])])).toBe(partitions);
    // A name of a field comes from outside. Glue accepts one line of 255 bytes.
    const hostile = `a\n\u202e\u001b[31m\ud800${'é'.repeat(200)}`;
    await catalog.ensureTable(described(hostile));
    expect(comments()).toEqual([`a\ufffd\ufffd\ufffd[31m\ufffd${'é'.repeat(119)}`, 'Its amount']);
    expect(Buffer.byteLength(String(comments()[0]))).toBeLessThanOrEqual(255);
  });

  it('accepts every text of the program whole', () => {
    const made = [...coverageTable.columns, ...closesTable.columns, ...CHANGE_COLUMNS];
    const views = [...allViews(reports), freshness];
    const texts = [
      ...Object.values(reports).flatMap((report) => tableColumns(report, baseSchema(report.columns))),
      ...made,
      ...views.flatMap(({ columns }) => columns.map(([, , description]) => ({ description }))),
    ].map(({ description = '' }) => description);
    expect(texts.filter((text) => !/^[\x20-\ud7ff]+$/.test(text) || Buffer.byteLength(text) > 255)).toEqual(
      [],
    );
    expect(made.every(({ description }) => description)).toBe(true);
  });

  it('I7: adds columns after the existing columns, and never removes a column', async () => {
    await catalog.ensureTable(withColumns('a', 'b'));
    await catalog.ensureTable({
      ...ORDERS,
      columns: [
        { name: 'c', type: 'bigint' },
        { name: 'a', type: 'string' },
      ],
    });
    expect(columnsNow()).toMatchObject({
      Columns: [
        { Name: 'a', Type: 'string' },
        { Name: 'b', Type: 'string' },
        { Name: 'c', Type: 'bigint' },
      ],
    });
  });

  it.each<[string, string, string]>([
    ['decimal(38,9)', 'bigint', 'amount is bigint and not decimal(38,9)'],
    ['decimal(38,9)', 'decimal(18,2)', 'amount is decimal(18,2) and not decimal(38,9)'],
    ['string', 'date', 'transid is date and not string'],
  ])(
    'I7: refuses a table with a %s that Glue has as %s, and names the remedy',
    async (wanted, found, said) => {
      const column = ORDERS.columns.find(({ type }) => type === wanted)?.name;
      const Columns = ORDERS.columns.map(({ name, type }) => ({
        Name: name,
        Type: name === column ? found : type,
      }));
      const table = { Name: 'orders', StorageDescriptor: { Location: LOCATION, Columns } };
      server.tables.set('orders', { table, version: 0, partitions: new Map() });
      await expect(catalog.ensureTable(ORDERS)).rejects.toMatchObject({
        kind: 'config',
        code: 'column_types',
        message: expect.stringContaining(said),
      });
      await expect(catalog.ensureTable(ORDERS)).rejects.toThrow(
        'aws glue delete-table --database-name reports --name orders',
      );
      expect(server.tables.get('orders')?.version).toBe(0);
    },
  );

  it('I7: publishes no partition with a type that its table does not have', async () => {
    await catalog.ensureTable({ ...ORDERS, columns: ORDERS.columns.slice(0, 1) });
    const stored = server.tables.get('orders');
    const Columns = [
      { Name: 'transid', Type: 'string' },
      { Name: 'amount', Type: 'double' },
    ];
    if (stored) stored.table = { ...stored.table, StorageDescriptor: { Location: LOCATION, Columns } };
    await expect(catalog.setSnapshot(ORDERS, day, 's1')).rejects.toMatchObject({ code: 'column_types' });
    expect(stored?.partitions.size).toBe(0);
  });

  it('accepts a type that somebody wrote in another form', async () => {
    const Columns = [
      { Name: 'TransId', Type: 'STRING' },
      { Name: 'amount', Type: 'decimal(38, 9)' },
    ];
    await catalog.ensureTable(ORDERS);
    Object.assign(tableNow() ?? {}, { StorageDescriptor: { Location: LOCATION, Columns } });
    await catalog.ensureTable(ORDERS);
    expect(server.tables.get('orders')?.version).toBe(0);
  });

  it('keeps other people’s changes to the table', async () => {
    await catalog.ensureTable(withColumns('a'));
    Object.assign(tableNow() ?? {}, { Owner: 'team', Parameters: { cost_center: '7' } });
    await catalog.ensureTable(withColumns('b'));
    expect(tableNow()).toMatchObject({ Owner: 'team', Parameters: { cost_center: '7' } });
  });

  it.each<[string, object]>([
    ['a parameter', { Parameters: { EXTERNAL: 'TRUE', classification: 'parquet' } }],
    ['a parameter of another value', { Parameters: { classification: 'csv' } }],
    ['the description', { Description: 'of an earlier release' }],
  ])('adds to a table with all columns %s that it lacks', async (_what, before) => {
    await catalog.ensureTable(ORDERS);
    Object.assign(tableNow() ?? {}, before);
    await catalog.ensureTable(ORDERS);
    expect(tableNow()).toMatchObject({
      Description: 'Orders',
      Parameters: { classification: 'parquet', 'partition_filtering.enabled': 'true' },
    });
  });

  it('I7: keeps the columns of another run that grew the table at the same time', async () => {
    await catalog.ensureTable(withColumns('a'));
    server.faults.beforeWrite = () => {
      const stored = server.tables.get('orders');
      const Columns = [
        { Name: 'a', Type: 'string' },
        { Name: 'theirs', Type: 'string' },
      ];
      const StorageDescriptor = { Location: LOCATION, Columns };
      if (stored) Object.assign(stored, { table: { ...stored.table, StorageDescriptor }, version: 7 });
    };
    await catalog.ensureTable(withColumns('ours'));
    expect(columnsNow()).toMatchObject({ Columns: [{ Name: 'a' }, { Name: 'theirs' }, { Name: 'ours' }] });
  });

  it('I5: adds its columns to a table that another run created at the same time', async () => {
    server.faults.beforeWrite = () => {
      const StorageDescriptor = { Location: LOCATION, Columns: [{ Name: 'theirs', Type: 'string' }] };
      const table = { Name: 'orders', PartitionKeys: [], StorageDescriptor };
      server.tables.set('orders', { table, version: 0, partitions: new Map() });
    };
    await catalog.ensureTable(withColumns('ours'));
    expect(columnsNow()).toMatchObject({ Columns: [{ Name: 'theirs' }, { Name: 'ours' }] });
  });

  it('I5: points a partition that another run created at the same time', async () => {
    await catalog.ensureTable(ORDERS);
    server.faults.beforeWrite = () =>
      server.tables.get('orders')?.partitions.set('acme/2026-01-31', { Values: ['acme', '2026-01-31'] });
    await catalog.setSnapshot(ORDERS, day, 's1');
    expect([...(await catalog.snapshotsByPartition('orders', day)).values()]).toEqual([['s1']]);
  });

  it('gets views in Athena’s form: Hive’s types outside, Trino’s types inside', async () => {
    await catalog.ensureView(ORDERS_DAILY);
    const view = viewNow();
    // Trino would read a description as the comment, which has to be the text that marks a view.
    expect(view).not.toHaveProperty('Description');
    expect(view).toMatchObject({
      TableType: 'VIRTUAL_VIEW',
      Parameters: { presto_view: 'true', comment: 'Presto View', description: 'Orders by day' },
      ViewExpandedText: '/* Presto View */',
      StorageDescriptor: {
        Columns: [
          { Name: 'dt', Type: 'string', Comment: 'The day' },
          { Name: 'orders', Type: 'bigint', Comment: 'How many' },
          { Name: 'amount', Type: 'decimal(38,9)', Comment: "What they're worth" },
          { Name: 'last_seen', Type: 'timestamp', Comment: 'When' },
          { Name: 'day', Type: 'date', Comment: expect.stringContaining('as a DATE') },
        ],
      },
    });
    expect(insideOf(view)).toEqual({
      originalSql: `SELECT days.*, TRY_CAST(dt AS date) AS day FROM (\n${ORDERS_DAILY.sql}\n) AS days`,
      catalog: 'awsdatacatalog',
      schema: 'reports',
      columns: [
        { name: 'dt', type: 'varchar', comment: 'The day' },
        { name: 'orders', type: 'bigint', comment: 'How many' },
        { name: 'amount', type: 'decimal(38,9)', comment: "What they're worth" },
        { name: 'last_seen', type: 'timestamp(3)', comment: 'When' },
        { name: 'day', type: 'date', comment: expect.stringContaining('as a DATE') },
      ],
      comment: 'Orders by day',
      runAsInvoker: true,
    });
  });

  it.each<[string, Partial<View>, number]>([
    ['leaves it alone if it is the same', {}, 0],
    ['replaces it if its SQL differs', { sql: 'SELECT * FROM orders' }, 1],
    ['replaces it if a column has another type', { columns: [['dt', 'date', 'The day']] }, 1],
    ['replaces it if a column has another description', { columns: [['dt', 'string', 'Other']] }, 1],
    ['replaces it if its description differs', { description: 'Other' }, 1],
  ])('ensuring a view %s', async (_name, change, version) => {
    await catalog.ensureView(ORDERS_DAILY);
    await catalog.ensureView({ ...ORDERS_DAILY, ...change });
    expect(server.tables.get('orders_daily')?.version).toBe(version);
    expect(insideOf(viewNow())).toMatchObject({
      originalSql: expect.stringContaining(change.sql ?? ORDERS_DAILY.sql),
    });
  });

  it('I5: ends with its own view if another run replaces it at the same time', async () => {
    await catalog.ensureView({ ...ORDERS_DAILY, sql: 'SELECT 1' });
    server.faults.beforeWrite = () => {
      const stored = server.tables.get('orders_daily');
      if (stored) Object.assign(stored, { version: 7 });
    };
    await catalog.ensureView(ORDERS_DAILY);
    expect(insideOf(viewNow())).toMatchObject({ originalSql: expect.stringContaining(ORDERS_DAILY.sql) });
  });

  it.each([
    ['1.9.0', '1.10.0', 'SELECT 2'],
    ['1.10.0', '1.9.0', 'SELECT 1'],
    ['1.10.0', '1.10.0', 'SELECT 2'],
  ])('a view of %s after the program %s has %s', async (first, second, sql) => {
    for (const [program, text] of [
      [first, 'SELECT 1'],
      [second, 'SELECT 2'],
    ] as const)
      await openGlueCatalog('reports', lakeUrl, server.client, program).ensureView({
        ...ORDERS_DAILY,
        sql: text,
      });
    expect(insideOf(viewNow())).toMatchObject({ originalSql: expect.stringContaining(sql) });
  });

  it('is written by deployed functions only', async () => {
    const { catalog: ofLaptop } = openS3Lake('s3://lake', undefined, 'reports');
    await ofLaptop?.ensureView(ORDERS_DAILY);
    expect([...server.tables.keys()]).toEqual([]);
  });

  it('is refused with its size if Glue would refuse it', async () => {
    const sql = `SELECT '${'x'.repeat(400_000)}' AS x`;
    await expect(catalog.ensureView({ ...ORDERS_DAILY, sql })).rejects.toMatchObject({
      kind: 'config',
      code: 'view_too_large',
      message: expect.stringMatching(
        /^The view orders_daily would have 53\d{4} bytes; Glue accepts 409600\./,
      ),
    });
  });

  it('refuses to replace a table with a view', async () => {
    await catalog.ensureTable(ORDERS);
    await expect(catalog.ensureView({ ...ORDERS_DAILY, name: 'orders' })).rejects.toMatchObject({
      kind: 'config',
      code: 'not_a_view',
      message: expect.stringContaining('orders in the Glue database reports is a table (EXTERNAL_TABLE)'),
    });
    expect(tableNow()).toMatchObject({ TableType: 'EXTERNAL_TABLE' });
  });

  it('refuses a table of another lake', async () => {
    await catalog.ensureTable(ORDERS);
    const other = openGlueCatalog('reports', 's3://other', server.client);
    await expect(other.ensureTable(ORDERS)).rejects.toMatchObject({
      kind: 'config',
      code: 'other_lake',
      message: expect.stringContaining(LOCATION),
    });
  });

  it('reports that the database is missing', async () => {
    const elsewhere = openGlueCatalog('nowhere', lakeUrl, server.client);
    await expect(elsewhere.ensureTable(ORDERS)).rejects.toMatchObject({
      kind: 'config',
      code: 'database_missing',
      message: expect.stringContaining('nowhere'),
    });
  });

  it.each<[string, (catalog: Catalog) => Promise<unknown>]>([
    ['preparing a table', (catalog) => catalog.ensureTable(ORDERS)],
    ['preparing a view', (catalog) => catalog.ensureView(ORDERS_DAILY)],
    ['publishing a partition', (catalog) => catalog.setSnapshot(ORDERS, day, 's1')],
    ['reading all partitions', (catalog) => catalog.snapshotsByPartition('orders', day)],
  ])('reports when %s which grant is missing', async (_name, act) => {
    server.faults.deny = 'Insufficient Lake Formation permission(s): Required Alter on orders';
    await expect(act(catalog)).rejects.toMatchObject({
      kind: 'config',
      code: 'aws_refused',
      message: expect.stringMatching(
        /Required Alter on orders.*lakeformation grant-permissions .*CREATE_TABLE.*"reports".*ALTER.*"reports"/,
      ),
    });
  });

  it('names the permissions of IAM if Lake Formation is not the reason', async () => {
    server.faults.deny = 'User: x is not authorized to perform: glue:GetTable';
    await expect(catalog.ensureTable(ORDERS)).rejects.toMatchObject({
      code: 'aws_refused',
      message: expect.stringMatching(/^(?!.*lakeformation).*glue:GetTable, CreateTable.* reports /),
    });
  });
});
