import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let file: string;

beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore: 1 });
  file = join(sample.folder, 'received.ndjson');
});
afterAll(() => sample.close());

const linesOf = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
const received = async () => linesOf(await readFile(file, 'utf8').catch(() => ''));
const sync = (...flags: string[]) => {
  const { firstDay: day } = sample;
  return startCli(['sync', 'order_list', '--from', day, '--to', day, ...sample.flags, ...flags]);
};

/** From now on, the order of the first day has another text. */
function change(word: string): void {
  sample.alter('order_list', sample.firstDay, () => ({ word }));
}

it('sync --json prints each event as a line, and the outcome as the last line', async () => {
  const { code, stdout } = await sync('--json').result;
  const day = sample.firstDay;
  expect([code, linesOf(stdout)]).toEqual([
    0,
    [
      {
        event: {
          type: 'Day Published',
          detail: expect.objectContaining({ day, table: 'orders', findings: [] }),
        },
      },
      { status: 'complete', reports: [expect.objectContaining({ report: 'order_list' })] },
    ],
  ]);
});

it('--on-published starts the command with the event on standard input alone', async () => {
  change('$(touch injected)');
  const command = `env > '${file}.env'; echo to our standard error; cat >> '${file}'`;
  const { code, stdout, stderr } = await sync('--json', '--on-published', command).result;
  expect(code).toBe(0);
  expect(stderr).toContain('to our standard error');
  const [printed] = linesOf(stdout);
  expect(await received()).toEqual([printed.event]);
  expect(printed.event).toMatchObject({ type: 'Day Changed', detail: { day: sample.firstDay } });
  expect(await readFile(`${file}.env`, 'utf8')).not.toContain(printed.event.detail.version);
});

it.each([
  { command: 'cat > /dev/null; exit 7', message: 'ended with exit code 7' },
  { command: 'kill -9 $$', message: 'was ended by SIGKILL' },
  { command: 'no-such-command-of-ours', message: 'ended with exit code 127' },
])('an event that "$command" receives stays for the next run', async ({ command, message }) => {
  change(message);
  const { code, stdout, stderr } = await sync('--json', '--on-published', command).result;
  expect([code, linesOf(stdout).map(({ status }) => status)]).toEqual([0, ['complete']]);
  expect(stderr).toMatch(`the command of --on-published ${message}, so the event waits`);
  const before = (await received()).length;
  const again = await sync('--on-published', `cat >> '${file}'`).result;
  expect([again.code, (await received()).length]).toEqual([0, before + 1]);
});

it('a command that does not read its input harms nothing', async () => {
  change('unread');
  const { code, stderr } = await sync('--on-published', 'exec <&-; true').result;
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('EPIPE')]);
  expect((await sync('--json').result).stdout.trim().split('\n')).toHaveLength(1);
});

it('a reader that closes the pipe at an event ends a run that is not complete', async () => {
  change('closed');
  const run = sync('--json', '--on-published', 'cat > /dev/null; echo begun; sleep 0.3');
  await run.says('begun');
  run.process.stdout?.destroy();
  expect((await run.result).code).toBe(3);
  expect((await sync('--json').result).stdout.trim().split('\n')).toHaveLength(2);
});

it('a command that hangs ends with the run, together with all its child processes', async () => {
  change('hanging');
  const run = sync('--json', '--on-published', `echo begun; (sleep 60; echo woke >> '${file}.late') & wait`);
  await run.says('begun');
  run.process.kill('SIGTERM');
  const { code, stderr } = await run.result;
  expect([code, stderr]).toEqual([0, expect.stringContaining('was ended by SIGKILL')]);
});

it('an empty command is refused', async () => {
  const { code, stderr } = await sync('--on-published', ' ').result;
  expect([code, stderr]).toEqual([2, expect.stringContaining('Not a command')]);
});
