import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

// Values that a service chooses must not make a search quadratic: each of these tests takes a second if the search is
// linear, and minutes otherwise. Each runs in its own process, because nothing else can stop a blocked event loop.

const shared = new URL('../../shared/', import.meta.url).href;

async function output(script: string): Promise<string> {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 30_000 });
  return stdout.trim();
}

/**
 * Words of eight bytes that differ only in the fourth and the eighth byte: a product separates them only in its highest
 * byte.
 */
const CHOSEN = `
  const letters = Array.from({ length: 64 }, (_, index) => String.fromCharCode(0x3e + index)).filter((each) => each !== '\\\\');
  const word = (letter) => 'abc' + letter + 'efg' + letter;
  const { length } = letters;
  const chosen = (index) => word(letters[index % length]) + word(letters[Math.floor(index / length) % length]) + word(letters[Math.floor(index / length ** 2) % length]);`;

describe('I12: values that a service chooses do not hold up a run', () => {
  it('with keys of one record', async () => {
    const script = `
      import { readText } from '${shared}records/read-records.ts';
      ${CHOSEN}
      const keys = Array.from({ length: 65_000 }, (_, index) => '"' + chosen(index) + '":1');
      const bytes = Buffer.from('[{' + keys.join(',') + '}]');
      let found = 0;
      for (let times = 0; times < 30; times += 1)
        found += readText(bytes, (text) => text.recordsAt(0))?.fields.length ?? 0;
      console.log(found);`;
    expect(await output(script)).toBe('1950000');
  }, 60_000);

  it('with values, a fifth of which are repeated', async () => {
    const script = `
      import { readRecords } from '${shared}records/read-records.ts';
      import { RecordColumns } from '${shared}table/record-columns.ts';
      ${CHOSEN}
      // The quotes are the first and the last byte of words.
      const text = (index) => chosen(index).slice(1) + 'abcdefg';
      const record = (_, row) => '{"a":"' + text(row % 5 === 4 ? row - 4 : row) + '"}';
      const list = readRecords(Buffer.from('[' + Array.from({ length: 240_000 }, record).join(',') + ']'));
      const columns = new RecordColumns({ rows: Infinity, bytes: Infinity });
      columns.append(list);
      console.log(columns.column('a')?.count);`;
    expect(await output(script)).toBe('192000');
  }, 60_000);
});
