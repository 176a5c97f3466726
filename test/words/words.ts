/*
 * `npm run words` finds phrases, long sentences and riddles as headings in docs, comments and messages. It fails if it finds any.
 *
 *   npm run words                      every file of the repository
 *   npm run words -- docs cli/main.ts  these folders and files
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Phrase, phrases, riddles } from './phrases.ts';
import { CODE, type Text, textsOfCode, textsOfPage, textsOfScript } from './texts.ts';

interface Fault {
  line: number;
  fault: string;
  /** The phrase with the words around it, or the beginning of the sentence. */
  context: string;
  instead: string;
}

const MAX_WORDS = 35;
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The files that people read: pages, code, scripts. Without `paths`, all of them. */
async function filesOf(root: string, paths: readonly string[]): Promise<string[]> {
  const tracked = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', ...paths];
  const { stdout } = await promisify(execFile)('git', tracked, { cwd: root, maxBuffer: 2 ** 26 });
  return stdout.split('\0').filter((file) => readerOf(file) !== undefined && existsSync(`${root}/${file}`));
}

function readerOf(file: string): ((file: string, source: string) => Text[]) | undefined {
  if (file.startsWith('test/words/')) return undefined;
  if (file === 'CHANGELOG.md') return (_, page) => textsOfPage(newestOf(page));
  if (file.endsWith('.md')) return (_, page) => textsOfPage(page);
  if (/\.(?:ts|js|mjs)$/.test(file)) return textsOfCode;
  if (/\.(?:sh|ya?ml|py)$|^\.ci\/run$/.test(file)) return (_, source) => textsOfScript(source);
  return undefined;
}

/** Older versions were published with their words. */
function newestOf(changelog: string): string {
  const [head, newest] = changelog.split(/^(?=## )/m);
  return `${head}${newest ?? ''}`;
}

/** The faults of a file, by its path from the root. */
function faultsOf(file: string, source: string): Fault[] {
  const texts = readerOf(file)?.(file, source) ?? [];
  return texts
    .flatMap((text) => [...faultsOfPhrases(text), ...longSentences(text)])
    .sort((a, b) => a.line - b.line);
}

function faultsOfPhrases(read: Text): Fault[] {
  const { kind, text } = read;
  const rows: readonly Phrase[] = kind === 'heading' ? [...phrases, ...riddles] : phrases;
  return rows.flatMap(({ fault, pattern, instead }) =>
    [...text.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map(({ index, 0: found }) => ({
      line: read.lineAt(index),
      fault,
      context: `…${text.slice(Math.max(0, index - 30), index + found.length + 30)}…`,
      instead,
    })),
  );
}

function longSentences(read: Text): Fault[] {
  // Code at the beginning of a sentence has no capital that would end the sentence before it.
  const text = read.text.replaceAll(CODE, 'X'.padEnd(CODE.length, 'x'));
  return [...sentences.segment(text)].flatMap(({ segment: { length }, index }) => {
    const segment = read.text.slice(index, index + length);
    const words = segment
      .split(/[\s—–]+/)
      .filter((word) => word === CODE || /[\p{L}\p{N}]/u.test(word)).length;
    if (words <= MAX_WORDS) return [];
    const context = `${segment.split(' ').slice(0, 8).join(' ')} …`;
    const instead = `sentences of at most ${MAX_WORDS} words`;
    return [{ line: read.lineAt(index), fault: `a sentence of ${words} words`, context, instead }];
  });
}

const files = await filesOf(process.cwd(), process.argv.slice(2));
const lines: string[] = [];
for (const file of files) {
  for (const { line, fault, context, instead } of faultsOf(file, readFileSync(file, 'utf8'))) {
    lines.push(`${file}:${line}: ${fault}: "${context}". Write: ${instead}`);
  }
}
if (lines.length > 0) process.exitCode = 1;
console.log([...lines, `${lines.length} faults in ${files.length} files.`].join('\n'));
