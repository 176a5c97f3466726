import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerTo } from '../../cli/mcp/tools.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { brandSettingsKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const SQL =
  'SELECT CAST(sum(commission) AS varchar) AS commission, sum(orders_void) AS void FROM publisher_performance';
const CHANGES = 'commission old_comm → new_comm, word "Annulled" not set → void';
const BACK = 'commission new_comm → old_comm, word "Annulled" void → not set';
const NOTE = /fields of acme order_list are those of .*old\.json; the lake has other ones since \d{4}-.*Z: /;

let sample: SampleBrandForCli;
/** Settings that name another field of the commission, or the word of a state, and the flags that use them. */
let oldFile: string;
let newFile: string;
let lake: string[];
let credentials: string[];
const withSettings = (file: string) => ['--settings', file, ...lake];
const withoutSettings = () => ({ cwd: sample.folder });

beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 1 });
  sample.acme.records.order_list = sample.acme.records.order_list.map(({ at, record }) => {
    const { commission = null, status, ...rest } = record;
    const state = status === 'void' ? 'Annulled' : (status ?? null);
    return { at, record: { ...rest, status: state, old_comm: commission, new_comm: '1.00' } };
  });
  const [, settings = '', flag = '', file = ''] = sample.flags;
  credentials = [flag, file];
  lake = ['--lake', sample.lake];
  const { brands } = JSON.parse(await readFile(settings, 'utf8'));
  const write = (name: string, order_list: object) =>
    sample.writeSettings(name, { brands: { acme: { ...brands.acme, reports: { order_list } } } });
  oldFile = await write('old.json', { fields: { commission: 'old_comm' } });
  newFile = await write('new.json', {
    fields: { commission: 'new_comm' },
    states: { words: { Annulled: 'void' } },
  });
});
afterAll(() => sample.close());

async function sync(file: string, ...more: string[]) {
  return runCli(['sync', 'order_list', ...withSettings(file), ...credentials, ...more]);
}

async function sums(flags: readonly string[]): Promise<object> {
  const { stdout } = await runCli(['query', '--json', ...flags, SQL], withoutSettings());
  return JSON.parse(stdout)[0];
}

const pointer = () => join(sample.lake, brandSettingsKey('acme'));

/** As if a deployed function had stored the settings. */
async function letFunctionsMaintain(): Promise<void> {
  const text = await readFile(pointer(), 'utf8');
  await writeFile(pointer(), text.replace('"by":"command_line"', '"by":"functions"'));
}

describe('the settings in a lake', () => {
  it('are those of the last run, which names each change of meaning; without settings, queries use them', async () => {
    const first = await sync(oldFile);
    expect([first.code, first.stderr.includes('meaning')]).toEqual([0, false]);
    const before = await sums(lake);
    expect(before).toEqual(await sums(withSettings(oldFile)));
    const second = await sync(newFile);
    expect(second.code).toBe(0);
    const lines = second.stderr.split('\n').filter((line) => line.includes('meaning changed'));
    expect(lines).toEqual(CHANGES.split(', ').map((each) => `acme order_list meaning changed: ${each}`));
    const after = await sums(lake);
    expect(after).toEqual(await sums(withSettings(newFile)));
    expect(after).not.toEqual(before);
    const third = await sync(newFile);
    expect(third.stderr).not.toContain('meaning changed');
    expect(await sums(withSettings(oldFile))).toEqual(before);
  });

  it('have neither an address nor a credential', async () => {
    const { baseUrl, bid, token, secret } = sample.acme;
    const files = await readdir(sample.lake, { recursive: true, withFileTypes: true });
    const bytes = await Promise.all(
      files
        .filter((each) => each.isFile())
        .map((each) => readFile(join(each.parentPath, each.name), 'latin1')),
    );
    expect(bytes.length).toBeGreaterThan(5);
    for (const hidden of [baseUrl, new URL(baseUrl).host, token, secret, 'brand-reports/acme', `"${bid}"`])
      expect(bytes.filter((text) => text.includes(hidden))).toEqual([]);
  });

  it('differ from a file: each outlet uses the file and names it', async () => {
    const flags = withSettings(oldFile);
    for (const command of [
      ['query', 'FROM orders_daily'],
      ['status'],
      ['open'],
      ['dbt', 'init', join(sample.folder, 'dbt')],
    ]) {
      const { code, stderr } = await runCli([...command, ...flags]);
      const notes = stderr.split('\n').filter((line) => line.startsWith('note: fields of'));
      expect([command, code, notes]).toEqual([command, 0, [expect.stringMatching(NOTE)]]);
      expect(notes[0]).toContain(BACK);
    }
    const page = join(sample.folder, 'page.html');
    await runCli(['status', '--html', page, ...flags]);
    expect(await readFile(page, 'utf8')).toMatch(NOTE);
    const month = sample.firstDay.slice(0, 7);
    for (const format of ['table', 'json', 'html']) {
      const { stdout } = await runCli(['statement', '--month', month, '--format', format, ...flags]);
      expect(stdout).toMatch(NOTE);
    }
    const settings = loadSettings(await readFile(oldFile, 'utf8'), oldFile, reports);
    const opened = { store: openLocalStore(sample.lake), reports, nowMs: Date.now() };
    const ask = (given: object) =>
      answerTo({ tool: 'sql', input: { sql: SQL } }, async () => ({
        ...opened,
        settings: undefined,
        ...given,
      }));
    expect((await ask({ settings, settingsFile: oldFile })).text).toMatch(NOTE);
    expect((await ask({})).text).not.toContain('fields of');
  });

  it('are not replaced by a command line if functions maintain them, unless it is told to', async () => {
    await letFunctionsMaintain();
    const kept = await readFile(pointer(), 'utf8');
    const [from, to] = [sample.firstDay, sample.firstDay];
    const rebuild = ['rebuild', 'order_list', '--from', from, '--to', to, ...withSettings(oldFile)];
    for (const { code, stderr } of [await sync(oldFile), await runCli(rebuild)]) {
      expect(code).toBe(2);
      for (const change of BACK.split(', ')) expect(stderr).toContain(`- acme order_list: ${change}`);
      expect(stderr).toContain('--adopt-settings');
    }
    // Settings of the same meaning, which read from another day on, are used and not stored.
    const text = (await readFile(newFile, 'utf8')).replace(sample.firstDay, sample.today);
    const later = join(sample.folder, 'later.json');
    await writeFile(later, text);
    expect((await sync(later)).code).toBe(0);
    expect(await readFile(pointer(), 'utf8')).toBe(kept);
    const adopted = await runCli([...rebuild, '--adopt-settings']);
    expect([adopted.code, adopted.stderr]).toEqual([0, expect.stringContaining(BACK.split(', ')[0] ?? '')]);
    expect(await readFile(pointer(), 'utf8')).toContain('"by":"command_line"');
    expect((await sync(newFile)).code).toBe(0);
  });

  it('are missed aloud if they are damaged, and the next run writes them again', async () => {
    const right = await sums(lake);
    await writeFile(pointer(), (await readFile(pointer(), 'utf8')).replace('new_comm', "x'; DROP"));
    const { stderr } = await runCli(['query', SQL, ...lake], withoutSettings());
    expect(stderr).toMatch(/note: schema\/settings\/acme\/current\.json cannot be used: .*verify.*--restore/);
    const verified = await runCli(['verify', ...lake], withoutSettings());
    expect([verified.code, verified.stdout + verified.stderr]).toEqual([
      1,
      expect.stringContaining('schema/settings/acme/current.json'),
    ]);
    expect((await sync(newFile)).code).toBe(0);
    expect(await sums(lake)).toEqual(right);
  });
});
