/**
 * Checks that data contracts are valid by the standard's own schema, which its package for Python contains, and promise
 * what the lake and the settings show.
 */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2019 } from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import { parseAllDocuments } from 'yaml';
import { reports } from '../../shared/reports/index.ts';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';
import { pythonPackages } from '../fakes/python-packages.ts';

/** A name that would end a text, control a terminal or be another type in YAML. */
const HOSTILE = `no: "'\u202e\u001b[31m\n--- #{x} & *y`;

let sample: SampleBrandForCli;
let validate: (document: unknown) => string[];
beforeAll(async () => {
  const programs = await pythonPackages('odcs', ['--no-deps', 'open-data-contract-standard==3.1.2']);
  const [path = ''] = globSync(`${programs}/../lib/*/site-packages/open_data_contract_standard/schema.json`);
  const schema = JSON.parse(await readFile(path, 'utf8'));
  const ajv = new Ajv2019({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const isValid = ajv.compile(schema);
  validate = (document) =>
    isValid(document)
      ? []
      : (isValid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  sample = await serveSampleBrand({ daysBefore: 1 });
  sample.alter('order_list', sample.firstDay, () => ({ [HOSTILE]: 'x', true: 1 }));
  expect((await runCli(['sync', 'clicks_list', 'order_list', ...sample.flags])).code).toBe(0);
});
afterAll(() => sample.close());

async function contracts(...args: string[]) {
  const { code, stdout, stderr } = await runCli(['contract', ...args]);
  expect([code, stderr]).toEqual([0, '']);
  return parseAllDocuments(stdout).map((document) => {
    expect('errors' in document && document.errors).toEqual([]);
    return document.toJS();
  });
}

const flags = () => ['--lake', sample.lake, '--settings', sample.flags[1] ?? ''];
const column = (contract: { schema: { properties: { name: string }[] }[] }, name: string) =>
  contract.schema[0]?.properties.find((each) => each.name === name);

describe('a contract', () => {
  it('is valid for every table, and its queries run', async () => {
    const all = await contracts(...flags());
    expect(all.map(({ name }) => name)).toEqual(Object.values(reports).map(({ table }) => table));
    for (const contract of all) expect([contract.name, validate(contract)]).toEqual([contract.name, []]);
    for (const { query } of all[0].schema[0].quality) {
      const { code, stdout } = await runCli(['query', '--json', query, ...flags()]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^\[\{".*":\d+\}\]\n$/)]);
    }
    expect(validate({ ...all[0], kind: 'Contract' })).not.toEqual([]);
  });

  it('fails for a brand whose days were never read, and for days before the first one', async () => {
    const { brands } = JSON.parse(await readFile(sample.flags[1] ?? '', 'utf8'));
    const other = await sample.writeSettings('other.json', {
      brands: { ...brands, other: brands.acme, acme: { ...brands.acme, startDate: '2020-01-01' } },
    });
    for (const [file, broken] of [
      [sample.flags[1] ?? '', 0],
      [other, 2],
    ] as const) {
      const of = ['--lake', sample.lake, '--settings', file];
      const [clicks] = await contracts('clicks', ...of);
      const { stdout } = await runCli(['query', '--json', clicks.schema[0].quality[0].query, ...of]);
      expect(Object.values(JSON.parse(stdout)[0])).toEqual([broken]);
    }
  });

  it('has keys, roles, types and the origin of each column', async () => {
    const [clicks, orders] = await contracts('clicks', 'order_list', ...flags());
    expect(column(clicks, 'id')).toMatchObject({
      ...{ logicalType: 'string', physicalType: 'VARCHAR', required: true },
      ...{ primaryKey: true, primaryKeyPosition: 3, description: 'Documented: identifies the click' },
    });
    expect(column(clicks, 'dt')).toMatchObject({
      partitioned: true,
      partitionKeyPosition: 2,
      primaryKeyPosition: 2,
    });
    expect(column(orders, 'commission')).toMatchObject({
      ...{ logicalType: 'number', physicalType: 'DECIMAL(38,9)', required: false },
      customProperties: [{ property: 'role', value: 'commission', description: 'Of acme' }],
      description: expect.stringContaining('Discovered'),
    });
    expect(orders.schema[1]).toMatchObject({ name: 'order_states', properties: expect.any(Array) });
    expect(column({ schema: [orders.schema[1]] }, 'amount')).toMatchObject({
      ...{ physicalType: 'DECIMAL(38,9)', required: false },
    });
    expect(column(orders, 'create_time')).not.toHaveProperty('primaryKey');
    expect(column(orders, 'true')).toMatchObject({ logicalType: 'number' });
  });

  it('survives the names that a service gives to fields', async () => {
    const [orders] = await contracts('orders', ...flags());
    expect(
      orders.schema[0].properties.map(({ description }: { description: string }) => description),
    ).toContain(
      `Discovered in the records of ${sample.firstDay} as ${JSON.stringify(HOSTILE)}; the interface does not document it`,
    );
  });

  it('promises complete days by the schedule of the settings, and nothing without settings', async () => {
    const file = await sample.writeSettings('daily.json', {});
    const { brands } = JSON.parse(await readFile(file, 'utf8'));
    const acme = { ...brands.acme, lateMinutes: 30, reports: { order_list: { schedule: 'rate(1 day)' } } };
    const daily = await sample.writeSettings('daily.json', { brands: { acme } });
    const [orders] = await contracts('orders', '--lake', sample.lake, '--settings', daily);
    expect(orders.slaProperties).toMatchObject([
      { property: 'latency', value: 30 + 2 * 24 * 60, unit: 'minutes', schedule: 'rate(1 day)' },
    ]);
    const { code, stdout } = await runCli(['contract', 'orders', '--lake', sample.lake], {
      cwd: sample.lake,
    });
    expect([code, parseAllDocuments(stdout)[0]?.toJS()]).toEqual([
      0,
      expect.not.objectContaining({ slaProperties: expect.anything() }),
    ]);
  });
});

it('an unknown table is an error that lists the tables', async () => {
  const { code, stderr } = await runCli(['contract', 'order', ...flags()]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/"order".*order_list \(table orders\)/)]);
});
