/*
 * Reads CSV of spreadsheets and dashboards: any delimiter, quoted line breaks, UTF-8, UTF-16 or Windows-1252. A line that
 * cannot be read is an error, because a missing line would look like a missing order.
 */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { configError } from '../../shared/errors.ts';

/** A line of the file. A cell with line breaks continues in the next lines. */
export interface CsvLine {
  /** From 1. */
  line: number;
  cells: string[];
}

/** The file and its cells are in memory: 256 MB, about 2 million orders. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The text of a file. @throws BrandReportsError `config` if it cannot be read or has more than 256 MB */
export async function readCsvText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw badFile(`${file} cannot be read (${textOf(error, 'code')}). Name another file.`);
  });
  if (bytes.length > MAX_BYTES) throw badFile(`${file} has more than 256 MB. Split it, for example by day.`);
  const wide = { fffe: 'utf-16le', feff: 'utf-16be' }[bytes.subarray(0, 2).toString('hex')];
  return new TextDecoder(wide ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes);
}

/** The lines that are not empty. @throws BrandReportsError `config` if a quoted cell has no end */
export function* csvLines(text: string, delimiter: string): Generator<CsvLine> {
  const end = new RegExp(`[${delimiter}\r\n]|$`, 'g');
  let at = 0;
  for (let next = 1; at < text.length; next += 1) {
    const line = next;
    const cells: string[] = [];
    do {
      let cell = '';
      // Two quotes mean one quote, and the cell continues.
      while (text[at] === '"') {
        const close = text.indexOf('"', at + 1);
        if (close === -1)
          throw badFile(`Line ${line} has a quoted cell that never ends. Export the file again.`);
        const part = text.slice(at + 1, close);
        next += part.split(/\r\n|\r|\n/).length - 1;
        at = close + 1;
        cell += text[at] === '"' ? `${part}"` : part;
      }
      end.lastIndex = at;
      const stop = end.exec(text)?.index ?? text.length;
      cells.push(cell + text.slice(at, stop));
      at = stop + 1;
    } while (text[at - 1] === delimiter);
    if (text[at - 1] === '\r' && text[at] === '\n') at += 1;
    if (cells.some((cell) => cell.trim() !== '')) yield { line, cells };
  }
}

/** An error of the file that is compared. */
export function badFile(message: string) {
  return configError('bad_file', message);
}
