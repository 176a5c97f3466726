/**
 * Observes a program from inside: `node --import observe.ts …` with BENCH_OBSERVED as the file to write at the end. It
 * counts what was loaded before the first request, and how long the event loop was blocked. Counting costs time, so
 * observed programs are not timed.
 */
import { subscribe } from 'node:diagnostics_channel';
import { statSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Observed } from './observed.ts';

/** Timers fire at this interval; the histogram counts every delay. */
const RESOLUTION_MS = 1;
const NS_PER_MS = 1e6;

const loaded = new Map<string, number>();
let beforeFirstRequest: Observed['loaded'] | undefined;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) loaded.set(fileURLToPath(url), statSync(new URL(url)).size);
    return nextLoad(url, context);
  },
});
// `fetch` and `node:http` publish these channels.
for (const channel of ['undici:request:create', 'http.client.request.start'])
  subscribe(channel, () => {
    if (beforeFirstRequest) return;
    beforeFirstRequest = Object.fromEntries(loaded);
    delay.enable();
  });

process.on('exit', () => {
  const file = process.env.BENCH_OBSERVED;
  if (file === undefined) return;
  const late = (ns: number) => Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
  const observed: Observed = {
    loaded: beforeFirstRequest ?? Object.fromEntries(loaded),
    delayMs: { median: late(delay.percentile(50)), p99: late(delay.percentile(99)), max: late(delay.max) },
  };
  writeFileSync(file, JSON.stringify(observed));
});
