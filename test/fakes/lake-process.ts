/**
 * Works on a lake folder in its own process, for behaviour that no double can show: locks that die with their process.
 */
import { closeSync, openSync } from 'node:fs';
import { createLocalRunRegistry } from '../../shared/adapters/local/lock.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { asBrandReportsError } from '../../shared/base/errors.ts';

// Usage: `count <lake> <times>` increments a counter by compare-and-swap; `live <lake> <run>` registers a run and stays;
// `fail <lake> <what>` prints the error codes of a new run; `files`: with no file descriptor left.
const [, , act = '', lake = '', argument = ''] = process.argv;

if (act === 'count') await count(Number(argument));
if (act === 'live') {
  await createLocalRunRegistry(lake).register(argument);
  process.stdout.write('entered\n');
  setInterval(() => {}, 1000);
}

if (act === 'fail') {
  const opened = argument === 'files' ? openAllFiles() : [];
  const codes = await Promise.all([codeOf(() => createLocalRunRegistry(lake).register('r1')), codeOf(put)]);
  for (const descriptor of opened) closeSync(descriptor);
  process.stdout.write(JSON.stringify(codes));
}

function put(): Promise<unknown> {
  return openLocalStore(lake).put('key', new Uint8Array(100_000), { ifAbsent: true });
}

async function codeOf(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'ok';
  } catch (thrown) {
    const { kind, code } = asBrandReportsError(thrown);
    return `${kind} ${code}`;
  }
}

function openAllFiles(): number[] {
  const opened: number[] = [];
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    return opened;
  }
}

async function count(times: number): Promise<void> {
  const store = openLocalStore(lake);
  for (let done = 0; done < times; ) {
    const found = await store.get('counter');
    const next = Buffer.from(String(Number(Buffer.from(found?.body ?? []).toString()) + 1));
    const outcome = await store.put('counter', next, found ? { ifMatch: found.etag } : { ifAbsent: true });
    if (outcome !== 'conflict') done += 1;
  }
}
