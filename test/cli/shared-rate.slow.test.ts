import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli, startCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

const LIMIT = 5;
const WINDOW_MS = 5_000;
/** Each run may send one request at once, and one more request may arrive late. */
const TOLERANCE = 2 * 2;

let sample: SampleBrandForCli;
afterEach(() => sample.close());

describe('two runs on one lake', () => {
  it('share the rate, never exceed it, and the other run gets the rate of a killed run', async () => {
    sample = await serveSampleBrand({ daysBefore: 40 });
    const seen: { action: string; atMs: number }[] = [];
    sample.service.addFault({
      on: {
        when: ({ action }) => {
          seen.push({ action, atMs: performance.now() });
          return false;
        },
      },
      fault: { kind: 'hang' },
    });
    const settings = ['--settings', await sample.writeSettings('slow.json', { requestsPerSecond: LIMIT })];
    const orders = startCli(['sync', 'order_list', ...sample.flags, ...settings]);
    const clicks = runCli(['sync', 'clicks_list', ...sample.flags, ...settings]);
    const countOf = (action: string) => seen.filter((request) => request.action === action).length;
    while (countOf('report/clicks_list') < 25) await new Promise((resolve) => setTimeout(resolve, 20));
    const [ordersUntilKilled, all] = [countOf('report/order_list'), seen.length];
    orders.process.kill('SIGKILL');
    await orders.result;
    expect((await clicks).code).toBe(0);

    expect(ordersUntilKilled).toBeGreaterThan(5);
    expect(seen.length).toBeGreaterThan(all + 10);
    const busiest = Math.max(
      ...seen.map(
        ({ atMs }) => seen.filter((other) => other.atMs >= atMs && other.atMs < atMs + WINDOW_MS).length,
      ),
    );
    expect(busiest).toBeLessThanOrEqual((LIMIT * WINDOW_MS) / 1000 + TOLERANCE);
    expect(busiest).toBeGreaterThan(((LIMIT * WINDOW_MS) / 1000) * 0.7);
  });
});
