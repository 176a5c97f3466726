import { readFile } from 'node:fs/promises';
import { faultsOf, filesOf } from './faults.ts';

/*
 * `npm run words` finds phrases, long sentences and riddles as headings in docs, comments and messages. It fails if it finds any.
 *
 *   npm run words                      every file of the repository
 *   npm run words -- docs cli/main.ts  these folders and files
 */

const files = await filesOf(process.cwd(), process.argv.slice(2));
const lines: string[] = [];
for (const file of files) {
  for (const { line, fault, context, instead } of faultsOf(file, await readFile(file, 'utf8'))) {
    lines.push(`${file}:${line}: ${fault}: "${context}". Write: ${instead}`);
  }
}
if (lines.length > 0) process.exitCode = 1;
console.log([...lines, `${lines.length} faults in ${files.length} files.`].join('\n'));
