/** What commands print with `--json`, and the events, are what the schemas of docs/reference/schemas promise. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { restate } from '../../sample/brand.ts';
import { addDays, dayOf, monthOf } from '../../shared/base/days.ts';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';
import { schemas, textOf } from './pages.ts';

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const met = new Set<string>();

/** @returns what the schema has against the document. An undocumented field is a fault here, although readers accept it. */
function faultsOf(name: string, document: unknown): string[] {
  met.add(name);
  const schema: unknown = JSON.parse(schemas.get(name) ?? 'false', (_key, value: unknown) =>
    isObject(value) && isObject(value.properties) && value.type === 'object'
      ? { additionalProperties: false, ...value }
      : value,
  );
  const isValid = ajv.compile(isObject(schema) ? schema : false);
  if (isValid(document)) return [];
  return (isValid.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

let sample: SampleBrandForCli;
/** A day of the month before, so that the month can be closed. */
let old = '';
let synced: string[] = [];

async function lines(...args: string[]): Promise<string[]> {
  const { stdout } = await runCli(args);
  return stdout.trim().split('\n');
}

const document = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await lines(...args, '--json'))[0] ?? '');

beforeAll(async () => {
  const dayOfMonth = Number(dayOf(Date.now(), 'America/New_York').slice(8));
  sample = await serveSampleBrand({ daysBefore: dayOfMonth });
  old = sample.firstDay;
  const range = (day: string) => [
    'sync',
    'orders',
    'transactions',
    '--from',
    day,
    '--to',
    day,
    ...sample.flags,
  ];
  synced = await lines(...range(old), '--json');
  await document('close', monthOf(old), '--anyway', '--lake', sample.lake);
  for (const brand of Object.values(sample.service.brands))
    restate(brand, 'order_list', old, (held) =>
      held.slice(1).map(({ at, record }) => ({ at, record: { ...record, status: 'void' } })),
    );
  await lines(...range(old));
  await lines(...range(addDays(sample.today, -1)));
}, 300_000);
afterAll(() => sample.close());

describe('a document of --json', () => {
  it('of sync is its schema: the events, then the outcome', () => {
    const events = synced.slice(0, -1).map((line) => JSON.parse(line));
    expect(events.length).toBeGreaterThan(0);
    expect(events.flatMap((event) => faultsOf('sync-event', event))).toEqual([]);
    expect(events.flatMap(({ event }) => faultsOf('day-event', event.detail))).toEqual([]);
    expect(faultsOf('sync', JSON.parse(synced.at(-1) ?? ''))).toEqual([]);
  });

  const rows: [name: string, args: () => string[]][] = [
    ['check', () => ['check', ...sample.flags]],
    ['status', () => ['status', ...settings()]],
    ['diff', () => ['diff', 'orders', old, ...lake()]],
    ['verify', () => ['verify', ...lake()]],
    ['rollback', () => ['rollback', 'orders', old, ...lake()]],
    ['rebuild', () => ['rebuild', 'orders', '--from', old, '--to', old, ...settings()]],
    ['close', () => ['close', ...lake()]],
    ['close', () => ['close', monthOf(old), '--remove', ...lake()]],
    ['erase', () => ['erase', '--brand', 'acme', '--from', old, '--to', old, '--plan', ...lake()]],
    ['close', () => ['close', monthOf(old), '--anyway', ...lake()]],
    ['error', () => ['rollback', 'orders', '1999-01-01', ...lake()]],
  ];
  const lake = () => ['--lake', sample.lake];
  const settings = () => [...sample.flags.slice(0, 2), ...lake()];

  it.each(rows)('of %s is its schema', async (name, args) => {
    expect(faultsOf(name, await document(...args()))).toEqual([]);
  });

  it('of a rollback is its schema', async () => {
    const listed = JSON.stringify(await document('rollback', 'orders', old, ...lake()));
    const [, first = ''] = /"snapshot":"([^"]+)"/.exec(listed) ?? [];
    const done = await document('rollback', 'orders', old, '--to', first, ...lake());
    expect([done, faultsOf('rollback', done)]).toMatchObject([{ status: 'complete' }, []]);
  });
});

it('the examples of the events are their schemas', () => {
  const [, text = ''] = /```json\n(\{"source"[\s\S]*?)```/.exec(textOf('docs/reference/events.md')) ?? [];
  const details = text.split('\n\n').map((each) => JSON.parse(each).detail);
  expect([faultsOf('day-event', details[0]), faultsOf('problem-event', details[1])]).toEqual([[], []]);
});

it('every schema was compared with a real document, and an undocumented field is noticed', () => {
  expect([...met].sort()).toEqual([...schemas.keys()].sort());
  expect(
    faultsOf('error', { status: 'failed', error: { kind: 'bug', code: '', message: '', more: 1 } }),
  ).toEqual([expect.stringContaining('more')]);
});
