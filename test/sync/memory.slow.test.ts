import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const RECORDS = 200_000;
const HEAP_MB = 128;

it(`I12: a day of ${RECORDS} records is published with a heap of ${HEAP_MB} MB, which could not hold it`, async () => {
  const folder = await temporaryFolder();
  try {
    const script = new URL('publish-many.ts', import.meta.url).pathname;
    const options = [`--max-old-space-size=${HEAP_MB}`, '--disable-warning=ExperimentalWarning'];
    const env = { ...process.env, NODE_OPTIONS: '' };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...options, script, folder.path, String(RECORDS)],
      { env },
    );
    const result: unknown = JSON.parse(stdout);
    process.stderr.write(`a day of ${RECORDS} records: ${stdout}`);
    expect(result).toMatchObject({ status: 'complete', rows: RECORDS });
  } finally {
    await folder.remove();
  }
});
