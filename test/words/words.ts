import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { faultsOf, filesOf } from './faults.ts';

/*
 * `npm run words` finds phrases, long sentences and riddles as headings in docs, comments and messages. It fails if it finds any.
 *
 *   npm run words                      every file of the repository
 *   npm run words -- docs cli/main.ts  these folders and files
 *   npm run words -- --counts          how many faults each folder has
 *   npm run words -- --root FOLDER     the repository in another folder
 */

const { values, positionals } = parseArgs({
  options: { root: { type: 'string' }, counts: { type: 'boolean' } },
  allowPositionals: true,
});
const root = values.root ?? process.cwd();
const files = await filesOf(root, positionals);
const counts = new Map<string, number>();
const lines: string[] = [];
for (const file of files) {
  for (const { line, fault, context, instead } of faultsOf(file, await readFile(`${root}/${file}`, 'utf8'))) {
    const folder = /^(?:(?:docs|test|shared|cli|bench)\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? '.';
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
    lines.push(`${file}:${line}: ${fault}: "${context}". Write: ${instead}`);
  }
}
const byFolder = [...counts].sort(([a], [b]) => a.localeCompare(b));
const total = counts.values().reduce((sum, count) => sum + count, 0);
const found = values.counts ? byFolder.map(([folder, count]) => `${count}\t${folder}`) : lines;
if (total > 0) process.exitCode = 1;
console.log([...found, `${total} faults in ${files.length} files.`].join('\n'));
