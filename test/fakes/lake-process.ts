/**
 * Works on a lake folder in a process of its own, for what no double can show: locks that die with their process.
 */
import { createLocalRunRegistry } from '../../shared/adapters/local/runs.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';

// Usage: `count <lake> <times>` increments a counter by compare-and-swap; `live <lake> <run>` registers a run and stays.
const [, , act = '', lake = '', argument = ''] = process.argv;

if (act === 'count') await count(Number(argument));
if (act === 'live') {
  await createLocalRunRegistry(lake).register(argument);
  process.stdout.write('entered\n');
  setInterval(() => {}, 1000);
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
