import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventSink } from '../../cli/event-sink.ts';
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
  return startCli(['sync', 'order_list', '--from', day, '--to', day, ...sample.flags, ...flags], { env });
};
const SECRETS = {
  BRAND_REPORTS_CREDENTIALS: '{"acme":{"bid":"hidden-0"}}',
  BRAND_REPORTS_ACME_BID: 'hidden-1',
  BRAND_REPORTS_ACME_TOKEN: 'hidden-2',
  BRAND_REPORTS_OTHER_EU_SECRET: 'hidden-3',
  BRAND_REPORTS_ACME_BASE_URL: 'https://hidden-4.example.com',
  brand_reports_acme_secret: 'hidden-5',
  Brand_Reports_Credentials: 'hidden-6',
};
const env = { ...SECRETS, AWS_PROFILE: 'of-the-command', BRAND_REPORTS_LAKE_OWNER: '123456789012' };

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
  const environment = await readFile(`${file}.env`, 'utf8');
  expect(environment).not.toContain(printed.event.detail.version);
  expect(environment).not.toMatch(/hidden-\d/);
  for (const name of Object.keys(SECRETS)) expect(environment).not.toContain(name);
  expect(environment).toContain('AWS_PROFILE=of-the-command\n');
  expect(environment).toContain('BRAND_REPORTS_LAKE_OWNER=123456789012\n');
});

it.each([
  { command: 'cat > /dev/null; exit 7', message: 'ended with exit code 7' },
  { command: 'kill -9 $$', message: 'was ended by SIGKILL' },
  { command: 'no-such-command-of-ours', message: 'ended with exit code 127' },
])('an event that "$command" receives stays for the next run', async ({ command, message }) => {
  change(message);
  const { code, stdout, stderr } = await sync('--json', '--on-published', command).result;
  expect([code, linesOf(stdout).map(({ status }) => status)]).toEqual([1, ['complete']]);
  expect(stderr).toMatch(`the command of --on-published ${message}, so the event waits`);
  expect(stderr).toMatch(/has not received every event\. They wait for its next run\.\n$/);
  const before = (await received()).length;
  const again = await sync('--on-published', `cat >> '${file}'`).result;
  expect([again.code, (await received()).length]).toEqual([0, before + 1]);
});

it('a command that fails decides the exit code of a run that is not complete', async () => {
  change('incomplete');
  expect((await sync('--on-published', 'false').result).code).toBe(1);
  const { code, stdout } = await sync('--json', '--max-seconds', '0.001', '--on-published', 'false').result;
  expect([code, JSON.parse(stdout).status]).toEqual([1, 'incomplete']);
  expect((await sync('--max-seconds', '0.001', '--on-published', 'true').result).code).toBe(3);
  expect((await sync('--on-published', 'true').result).code).toBe(0);
});

it('a command that cannot be started receives nothing', async () => {
  const detail = { day: sample.firstDay };
  let failures = 0;
  const command = 'x'.repeat(4_000_000);
  const sink = eventSink({ onPublished: command }, new AbortController().signal, () => {
    failures += 1;
  });
  await expect(sink?.send([{ type: 'Day Changed', detail }])).rejects.toMatchObject({
    code: 'event_not_received',
    message: expect.stringContaining('could not be started (E2BIG), so the event waits'),
  });
  expect(failures).toBe(1);
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
  expect([code, stderr]).toEqual([1, expect.stringContaining('was ended by SIGKILL')]);
});

it('an empty command is refused', async () => {
  const { code, stderr } = await sync('--on-published', ' ').result;
  expect([code, stderr]).toEqual([2, expect.stringContaining('Not a command')]);
});
