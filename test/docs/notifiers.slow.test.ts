import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import { blocksOf, root } from './pages.ts';

const PAGE = 'docs/how-to/slack-or-webhook.md';
const blockOf = (mark: string) =>
  blocksOf(PAGE, 'ts').find((block) => block.mark === `ts ${mark}`)?.text ?? '';

let folder: string;

beforeAll(async () => {
  // A folder at the top level, as the imports of the page expect.
  folder = await mkdtemp(join(root, 'notifiers-'));
  await writeFile(join(folder, 'messages.ts'), blockOf('messages'));
  await writeFile(
    join(folder, 'alarms.ts'),
    `import type { BrandReports } from '../infra/brand-reports.ts';
${blockOf('alarms')}
export function use(reports: BrandReports, toSlack: IFunction): void {
${blockOf('use')}
}
`,
  );
});
afterAll(() => rm(folder, { recursive: true }));

const run = promisify(execFile);

it('the classes of the page compile', async () => {
  const config = { extends: '../tsconfig.json', include: ['*.ts', '../shared/records/*.d.ts'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await run('tsc', ['--noEmit', '--project', folder]).catch((error: unknown) => ({
    stdout: z.parse(z.object({ stdout: z.string() }), error).stdout,
  }));
  expect(stdout).toBe('');
});

it('the notifier of messages posts to the webhook, and names no URL if it is refused', async () => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString());
    response.writeHead(bodies.length === 1 ? 200 : 403).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.parse(z.object({ port: z.number() }), server.address());
  const script = `import { WebhookNotifier } from '${folder}/messages.ts';
const notifier = new WebhookNotifier('http://127.0.0.1:${port}/secret');
const message = { subject: '1 new', text: 'NEW\\n- acme "orders"' };
await notifier.tell(message);
await notifier.tell(message).catch(({ kind, message }) => console.log(kind, message));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  server.close();
  expect(bodies[0]).toBe(JSON.stringify({ text: '*1 new*\nNEW\n- acme "orders"' }));
  expect(stdout).toBe('transient The webhook did not accept a message (403). Check its URL.\n');
});
