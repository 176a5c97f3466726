import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { note } from '../../cli/output.ts';
import { showLine } from '../../cli/progress-line.ts';

const HOSTILE = 'acme \x1b]52;c;UFdO\x07\u009b2J\u202e\r\nok: forged';
const ERASE_LINE = '\r\x1b[2K';

describe('on a terminal', () => {
  const { isTTY, columns } = process.stderr;
  let written: string;
  beforeEach(() => {
    written = '';
    Object.assign(process.stderr, { isTTY: true, columns: 81 });
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    Object.assign(process.stderr, { isTTY, columns });
  });

  it('hostile text in the progress line stays in that line and steers nothing', () => {
    showLine(HOSTILE);
    expect(written).toBe(`${ERASE_LINE}acme \\u001b]52;c;UFdO\\u0007\\u009b2J\\u202e\\r\\nok: forged`);
  });

  it('a long progress line is cut to the terminal', () => {
    showLine('é'.repeat(1_000_000));
    expect(written).toBe(`${ERASE_LINE}${'é'.repeat(79)}…`);
  });

  it('a note replaces the progress line and keeps its own lines only', () => {
    note('error: first\nsecond \x1b[2J');
    expect(written).toBe(`${ERASE_LINE}error: first\nsecond \\u001b[2J\n`);
  });
});
