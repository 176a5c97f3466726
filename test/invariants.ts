import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * Checks that each promise of docs/explanation/invariants.md names existing code that enforces it and existing tests
 * that prove it (`npm run invariants`). Without this check, moved code or a renamed test would make a promise that
 * nobody can verify.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const PAGE = 'docs/explanation/invariants.md';
const IDS = Array.from({ length: 13 }, (_, index) => `I${index + 1}`);
const MAX_SUITES = 3;
const ID = /\bI(?:[1-9]\d*)\b/g;

interface Invariant {
  id: string;
  enforcedBy: { file: string; symbol: string }[];
  provedBy: string[];
  notCovered: string;
}

const sources = await readSources(['shared', 'functions', 'infra', 'cli']);
const tests = await readSources(['test']);
const page = await readFile(join(root, PAGE), 'utf8');
const promises = promisesOf(page);
const problems = [
  ...IDS.filter((id) => promises.filter((promise) => promise.id === id).length !== 1).map(
    (id) => `${PAGE} needs one section "## ${id} …"`,
  ),
  ...promises.flatMap(problemsOf),
  ...unknownIds(),
];

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${promises.length} promises, each enforced and proved as ${PAGE} states.`);

async function readSources(folders: readonly string[]): Promise<Map<string, string>> {
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((file) => `${folder}/${file}`),
    ),
  );
  const typescript = files.flat().filter((file) => file.endsWith('.ts'));
  return new Map(
    await Promise.all(
      typescript.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const),
    ),
  );
}

function promisesOf(text: string): Invariant[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      id: section.split(' ', 1)[0] ?? '',
      enforcedBy: enforcers(codesIn(part(section, 'Enforced by'))),
      provedBy: codesIn(part(section, 'Proved by')),
      notCovered: part(section, 'Not covered'),
    }));
}

/** The text after a label in bold, up to the next empty line. */
function part(section: string, label: string): string {
  const [, behind = ''] = section.split(`**${label}**`);
  return behind.split('\n\n', 1)[0]?.trim() ?? '';
}

function codesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Pairs of a file and a symbol in it. */
function enforcers(codes: readonly string[]): { file: string; symbol: string }[] {
  return codes.flatMap((file, index) => (index % 2 === 0 ? [{ file, symbol: codes[index + 1] ?? '' }] : []));
}

function problemsOf({ id, enforcedBy, provedBy, notCovered }: Invariant): string[] {
  const at = (problem: string) => `${PAGE}, ${id}: ${problem}`;
  return [
    ...(enforcedBy.length === 0 ? [at('"Enforced by" names no file')] : []),
    ...enforcedBy.flatMap(({ file, symbol }) => problemsOfEnforcer(id, file, symbol).map(at)),
    ...(provedBy.length === 0 || provedBy.length > MAX_SUITES
      ? [at(`"Proved by" names ${provedBy.length} suites; allowed: 1 to ${MAX_SUITES}`)]
      : []),
    ...provedBy.flatMap((file) => problemsOfSuite(id, file).map(at)),
    ...(notCovered === '' ? [at('"Not covered" is missing')] : []),
  ];
}

function problemsOfEnforcer(id: string, file: string, symbol: string): string[] {
  const source = sources.get(file);
  if (source === undefined) return [`${file} does not exist`];
  const declaration = new RegExp(
    `\\b(?:function\\*?|const|class|interface|type) ${symbol}\\b|^ +(?:async )?${symbol}\\(`,
    'm',
  );
  return [
    ...(symbol !== '' && declaration.test(source) ? [] : [`${file} declares no "${symbol}"`]),
    ...(new RegExp(`(?://|\\*).*\\b${id}\\b`).test(source) ? [] : [`no comment of ${file} has the id`]),
  ];
}

function problemsOfSuite(id: string, file: string): string[] {
  const source = tests.get(file);
  if (source === undefined) return [`${file} does not exist`];
  return titlesOf(source).includes(id) ? [] : [`no title in ${file} begins with "${id}: "`];
}

function titlesOf(source: string): string[] {
  return [...source.matchAll(/['"`](I\d+): /g)].map(([, id = '']) => id);
}

/** Ids in comments or titles that the page lacks: a typing error, or a promise that is not written down. */
function unknownIds(): string[] {
  const inComments = [...sources].flatMap(([file, source]) =>
    source
      .split('\n')
      .filter((line) => /^\s*(?:\/\/|\/?\*)/.test(line))
      .flatMap((line) => line.match(ID) ?? [])
      .map((id) => ({ file, id })),
  );
  const inTitles = [...tests].flatMap(([file, source]) => titlesOf(source).map((id) => ({ file, id })));
  return [...inComments, ...inTitles]
    .filter(({ id }) => !IDS.includes(id))
    .map(({ file, id }) => `${file} names ${id}, which is not a promise of ${PAGE}`);
}
