/**
 * Compares fast and exact reading of random texts: `npm run fuzz -- --records N --seed S`. It reads random lists of
 * records and responses, unchanged and with bytes changed at random, until N records were read both ways. It prints a
 * difference as the shortest text that was found, with the seed that repeats it. With `--checked`, the kernel is a
 * build that checks every load and store.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { parseJson } from '../../shared/base/json.ts';
import { makeKernelsBy } from '../../shared/records/kernel.ts';
import { checkedKernels } from './checked-kernel.ts';
import { checkColumns, checkScan, checkSplit } from './check-scan.ts';
import { envelopes, mutated, mutations, oddLists, plainLists } from './record-texts.ts';

const RUNS = 500;

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    checked: { type: 'boolean', default: false },
  },
});
const records = Number(values.records);
const first = Number(values.seed ?? Math.floor(Math.random() * 1e9));

const counts = { records: 0, texts: 0, accepted: 0, mutants: 0, 'accepted mutants': 0 };
const lists = fc.oneof({ weight: 3, arbitrary: plainLists }, { weight: 1, arbitrary: oddLists });
const kernels = values.checked ? await checkedKernels() : undefined;
if (kernels) makeKernelsBy(kernels.make);
console.log(`fuzz: seeds from ${first}`);
for (let seed = first; counts.records < records; seed += 1) {
  const accepted: string[] = [];
  const property = fc.property(lists, envelopes, mutations, (list, envelope, changes) => {
    const [plain, response] = [Buffer.from(list), Buffer.from(envelope)];
    counts.records += lengthOf(list);
    const isAccepted = checkScan(plain);
    note(isAccepted, 'texts', 'accepted');
    if (isAccepted && lengthOf(list) > 0) accepted.push(list.slice(1, -1));
    note(checkSplit(response), 'texts', 'accepted');
    note(checkScan(mutated(plain, changes)), 'mutants', 'accepted mutants');
    note(checkSplit(mutated(response, changes)), 'mutants', 'accepted mutants');
  });
  try {
    fc.assert(property, { seed, numRuns: RUNS });
    // Hundreds of records in one list, so that the results of a scan need further memory.
    const long = Buffer.from(`[${accepted.join(',')}]`);
    note(checkScan(long), 'texts', 'accepted');
    checkColumns(long);
  } catch (error) {
    console.error(`seed ${seed}: ${messagesOf(error)}`);
    console.error(`repeat: npm run fuzz -- --records 1 --seed ${seed}${values.checked ? ' --checked' : ''}`);
    process.exit(1);
  }
}
console.table({ ...counts, ...kernels?.counts });

function note(
  isAccepted: boolean,
  all: 'texts' | 'mutants',
  accepted: 'accepted' | 'accepted mutants',
): void {
  counts[all] += 1;
  if (isAccepted) counts[accepted] += 1;
}

/** The cause of a failed property is the error of its shortest case. */
function messagesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n${messagesOf(error.cause)}`;
}

function lengthOf(list: string): number {
  try {
    const parsed = parseJson(list);
    return Array.isArray(parsed) ? parsed.length : 0;
  } catch (error) {
    if (error instanceof RangeError) return 0; // Nested deeper than parseJson allows.
    throw error;
  }
}
