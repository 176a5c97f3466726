import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

it.each<[string, { records: number; days: number; columns: number; heapMb: number }]>([
  ['a day of 200,000 records', { records: 200_000, days: 1, columns: 0, heapMb: 128 }],
  ['30,000 records in a table of 1,000 columns', { records: 30_000, days: 1, columns: 1_000, heapMb: 160 }],
  ['four such days at a time', { records: 30_000, days: 4, columns: 1_000, heapMb: 384 }],
])(
  'I12: %s can be published with a heap that is smaller than the data',
  async (_name, { heapMb, ...size }) => {
    const folder = await temporaryFolder();
    try {
      const script = new URL('publish-many.ts', import.meta.url).pathname;
      const options = [`--max-old-space-size=${heapMb}`, '--disable-warning=ExperimentalWarning'];
      const counts = [size.records, size.days, size.columns].map(String);
      const env = { ...process.env, NODE_OPTIONS: '' };
      const command = [...options, script, folder.path, ...counts];
      const { stdout } = await promisify(execFile)(process.execPath, command, { env });
      const result: unknown = JSON.parse(stdout);
      process.stderr.write(`${JSON.stringify(size)}: ${stdout}`);
      expect(result).toMatchObject({
        status: 'complete',
        rows: Array.from({ length: size.days }, () => size.records),
      });
    } finally {
      await folder.remove();
    }
  },
);
