/** Text from outside reaches the terminal through every kind of output, all of which `cli/output.ts` writes, and never steers it. */
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli, startCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

/** Writes to the clipboard, sets colours, clears the screen, reverses the direction, and begins a new line. */
const HOSTILE = '\x1b]52;c;UFdO\x07\x1b[31mPWN\x1b[35m\u009b2J\u202e\u200f\u2028\r\nok: forged';
/** The part that is left after a message is shortened. */
const SEEN = ']52;c;';
const ESCAPE = '\x1b';
const OWN_STYLES = new RegExp(`${ESCAPE}\\[(1|2|22|31|32|33|36|39)m`, 'g');
const COLOURS = { FORCE_COLOR: '1', NO_COLOR: '' };

let sample: SampleBrandForCli;
/** A lake in which a brand's folder, a ledger and a snapshot are hostile. */
let spoiled: string;
let ownSettings: string[];

beforeAll(async () => {
  sample = await serveSampleBrand();
  const { acme, firstDay, flags, folder, lake } = sample;
  ownSettings = flags.slice(0, 2);
  for (const { record } of acme.records.order_list) Object.assign(record, { publisher_name: HOSTILE });
  expect((await runCli(['sync', ...flags])).code).toBe(0);
  sample.alter('order_list', firstDay, () => ({ note: `${HOSTILE} later`, [HOSTILE]: HOSTILE }));
  expect((await runCli(['sync', 'order_list', ...flags, '--from', firstDay, '--to', firstDay])).code).toBe(0);

  spoiled = join(folder, 'spoiled');
  await cp(lake, spoiled, { recursive: true });
  for (const report of ['order_list', 'clicks_list'])
    await cp(join(spoiled, 'ledger', report, 'acme'), join(spoiled, 'ledger', report, HOSTILE), {
      recursive: true,
    });
  const [ledger = ''] = await readdir(join(spoiled, 'ledger/clicks_list', HOSTILE));
  await writeFile(join(spoiled, 'ledger/clicks_list', HOSTILE, ledger), `{"${HOSTILE}": `);
  await rm(join(spoiled, 'snapshots/orders'), { recursive: true });
  await writeFile(
    join(folder, 'hostile.json'),
    JSON.stringify({ [HOSTILE]: HOSTILE, brands: { [HOSTILE]: {} } }),
  );
  await writeFile(join(folder, 'broken.json'), HOSTILE);
});
afterAll(() => sample.close());

function expectHarmless(output: { stdout: string; stderr: string }) {
  for (const [name, text] of Object.entries({ stdout: output.stdout, stderr: output.stderr })) {
    const rest = text.replaceAll(OWN_STYLES, '');
    expect({ name, steering: rest.match(/[^\n\P{Cc}]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu) ?? [] }).toEqual({
      name,
      steering: [],
    });
    expect(text).not.toContain('\x1b[31mPWN');
    expect(text).not.toMatch(/\\u001b\[\d+m(?!PWN|\\u009b)/);
  }
}

const query = (...args: string[]) => ['query', '--lake', sample.lake, ...args];

describe('hostile text', () => {
  it.each<[string, () => string[]]>([
    ['a command', () => [HOSTILE]],
    ['a flag', () => ['sync', `--${HOSTILE}`]],
    ['a day', () => ['sync', '--from', HOSTILE]],
    ['an instant', () => ['query', '--as-of', HOSTILE, 'SELECT 1']],
    ['a report', () => ['sync', HOSTILE, ...sample.flags]],
    ['a brand of sync', () => ['sync', '--brand', HOSTILE, ...sample.flags]],
    ['a brand of diff', () => ['diff', 'orders', sample.firstDay, '--brand', HOSTILE, '--lake', sample.lake]],
    ['a version', () => ['rollback', 'order_list', sample.firstDay, '--to', HOSTILE, '--lake', sample.lake]],
    ['a table', () => ['verify', HOSTILE, '--lake', sample.lake]],
    ['the path of a lake', () => ['verify', '--lake', join(sample.folder, HOSTILE)]],
    ['the path of settings', () => ['status', '--settings', HOSTILE]],
    [
      'the path of a page',
      () => [
        'status',
        ...ownSettings,
        '--lake',
        sample.lake,
        '--html',
        join(sample.folder, `${HOSTILE}.html`),
      ],
    ],
    ['keys of settings', () => ['status', '--settings', join(sample.folder, 'hostile.json')]],
    [
      'credentials that are not JSON',
      () => ['sync', ...ownSettings, '--credentials', join(sample.folder, 'broken.json'), '--brand', HOSTILE],
    ],
    ['SQL that is wrong', () => query(`SELECT * FROM "${HOSTILE}"`)],
    ['SQL that cannot be parsed', () => query(`SELEKT '${HOSTILE.replaceAll(/[\r\n]/g, '')}'`)],
    ["an error of DuckDB with a record's text", () => query('SELECT error(publisher_name) FROM orders')],
    ['cells', () => query('SELECT DISTINCT publisher_name FROM orders')],
    ['an output', () => query('--output', join(sample.folder, `${HOSTILE}.csv`), 'SELECT 1')],
    ['names of columns', () => query(`SELECT 1 AS "${HOSTILE}"`)],
    ['values in objects', () => query("SELECT {'a': publisher_name} AS b FROM orders")],
    ['records that changed', () => ['diff', 'orders', sample.firstDay, '--lake', sample.lake]],
    ['a brand folder in query', () => ['query', '--lake', spoiled, 'SELECT count(*) FROM orders']],
    ['a damaged ledger in query', () => ['query', '--lake', spoiled, 'SELECT count(*) FROM clicks']],
    ['a brand folder in status', () => ['status', ...ownSettings, '--lake', spoiled]],
    ['a brand folder in verify', () => ['verify', '--lake', spoiled]],
    ['a brand folder in diff', () => ['diff', 'orders', sample.firstDay, '--lake', spoiled]],
  ])('steers no terminal as %s', async (_name, args) => {
    const text = await runCli(args(), { env: COLOURS });
    expectHarmless(text);
    const json = await runCli([...args(), '--json']);
    expectHarmless(json);
    expect(text.stdout + text.stderr + json.stdout + json.stderr).toContain(SEEN);
  });

  it.each([
    ['sync', ['sync', 'order_list', 'clicks_list']],
    ['check', ['check']],
    ['rebuild', ['rebuild', 'order_list']],
    ['status', ['status']],
  ])('of the service steers no terminal in %s', async (_name, [command = '', ...names]) => {
    const { service, flags, folder, firstDay, today } = sample;
    const mend = service.addFault({ on: {}, fault: { kind: 'code', code: 500, msg: HOSTILE } });
    const lake = join(folder, 'refused');
    const inLake = [...flags, '--lake', lake];
    await runCli(['sync', 'order_list', ...inLake]);
    const days = command === 'rebuild' ? ['--from', firstDay, '--to', today] : [];
    const own = ['status', 'rebuild'].includes(command) ? [...ownSettings, '--lake', lake] : inLake;
    const text = await runCli([command, ...names, ...own, ...days], { env: COLOURS });
    const json = await runCli([command, ...names, ...own, ...days, '--json']);
    mend();
    expectHarmless(text);
    expectHarmless(json);
    if (command !== 'rebuild') expect(text.stdout + text.stderr).toContain(SEEN);
  });

  it('steers no terminal as the folder of the demo', async () => {
    const result = await runCli(['demo', '--lake', join(sample.folder, `demo ${HOSTILE}`)], { env: COLOURS });
    expectHarmless(result);
    expect(result.stdout).toContain(SEEN);
  });

  it('steers no terminal as the folder of the sample service', async () => {
    const folder = join(sample.folder, `served ${HOSTILE}`);
    await mkdir(folder);
    const { process: served, result } = startCli(['serve-sample', '--write-settings', folder]);
    served.stdout?.on('data', (text: string) => text.includes(SEEN) && served.kill('SIGINT'));
    const output = await result;
    expectHarmless(output);
    expect(output.stdout).toContain(SEEN);
  });

  it.each([
    ['an exception that nobody catches', 'throw new Error(text)', 1],
    ['a rejection that nobody handles', 'Promise.reject(new Error(text))', 1],
    ['a warning', 'process.emitWarning(text), setTimeout(() => process.kill(process.pid, "SIGINT"), 100)', 0],
  ])('steers no terminal as %s', async (_name, statement, code) => {
    const source = `const text = ${JSON.stringify(HOSTILE)}; setTimeout(() => { ${statement} }, 2000)`;
    const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
    const output = await runCli(['serve-sample'], { nodeFlags });
    expectHarmless(output);
    expect(output.stderr).toContain(SEEN);
    expect(output.code).toBe(code);
  });

  it('begins no new line within a line', async () => {
    const { stdout } = await runCli(['status', ...ownSettings, '--lake', spoiled]);
    expect(stdout).toContain(SEEN);
    expect(stdout).not.toMatch(/^ok: forged/m);
  });
});
