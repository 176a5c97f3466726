import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// `npm run promises` holds the table of promises in ARCHITECTURE.md against the tests that guard them, and fails
// where a promise has none or the table is not what the tests say; `npm run promises -- --write` brings it up to date.

const root = fileURLToPath(new URL('..', import.meta.url));
const architecture = join(root, 'ARCHITECTURE.md');
const begin = '<!-- promises: begin -->';
const end = '<!-- promises: end -->';

const guards = new Map<string, string[]>();
for (const file of await readdir(join(root, 'test'), { recursive: true })) {
  if (!file.endsWith('.ts')) continue;
  const source = await readFile(join(root, 'test', file), 'utf8');
  for (const [, promise = '', name = ''] of source.matchAll(
    /['"`](I(?:[1-9]|1[0-2])): ((?:[^'"`\n\\]|\\.)+)['"`]/g,
  ))
    guards.set(promise, [...(guards.get(promise) ?? []), `${name} (\`test/${file}\`)`]);
}

const document = await readFile(architecture, 'utf8');
const [before = '', rest = ''] = document.split(begin);
const [table = '', after = ''] = rest.split(end);
const promises = [...table.matchAll(/^\| (I\d+) \| ([^|]+) \|/gm)].map(([, id = '', text = '']) => ({
  id,
  text: text.trim(),
}));
const rows = promises.map(({ id, text }) => {
  const names = (guards.get(id) ?? [])
    .map((name) => name.replaceAll('|', '\\|'))
    .sort((a, b) => (a < b ? -1 : 1));
  return `| ${id} | ${text} | ${names.join('<br>')} |`;
});
const written = ['', '', '| | promise | guarded by |', '| --- | --- | --- |', ...rows, '', ''].join('\n');

console.log(
  promises
    .map(({ id, text }) => `${id.padEnd(4)}${String(guards.get(id)?.length ?? 0).padStart(3)} tests  ${text}`)
    .join('\n'),
);
const unguarded = promises.filter(({ id }) => !guards.has(id)).map(({ id }) => id);
if (promises.length !== 12 || unguarded.length > 0) {
  console.error(`Promises without a test: ${unguarded.join(', ') || 'the table lacks some of I1 to I12'}.`);
  process.exitCode = 1;
} else if (process.argv.includes('--write')) {
  await writeFile(architecture, before + begin + written + end + after);
} else if (table !== written) {
  console.error('The table in ARCHITECTURE.md is not what the tests say: npm run promises -- --write');
  process.exitCode = 1;
}
