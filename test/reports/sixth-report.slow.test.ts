import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

describe('with one file and its line in the list, a sixth report', () => {
  let tree = '';

  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'sixth-report-'));
    // With files that are not committed yet, such as another new report.
    const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const { stdout } = await run('git', listed, { cwd: repository });
    for (const path of stdout.split('\0').filter(Boolean)) await cp(join(repository, path), join(tree, path));
    await symlink(join(repository, 'node_modules'), join(tree, 'node_modules'));
    const definition = await readFile(join(tree, 'test/fixtures/sixth-report.ts'), 'utf8');
    const [list, added] = [join(tree, 'shared/reports/index.ts'), join(tree, 'shared/reports/refunds.ts')];
    await writeFile(added, definition.replace('../../shared/reports/', './'));
    const before = await readFile(list, 'utf8');
    const after = `import { refunds } from './refunds.ts';\n${before.replace(/(definitions: .*)\]/, '$1, refunds]')}`;
    expect(after).toContain('attribution, refunds]');
    await writeFile(list, after);
  });

  afterAll(() => rm(tree, { recursive: true }));

  it.each([
    ['the types', 'npx', ['tsc', '--noEmit']],
    ['the demo', 'npm', ['run', '--silent', 'demo']],
    ['the costs', 'npm', ['run', '--silent', 'cost']],
    ['the template', 'npm', ['run', '--silent', 'synth']],
    ['the tests', 'npm', ['test']],
  ])(
    'is accepted by %s',
    async (_name, program, args) => {
      const env = { ...process.env, NODE_OPTIONS: '', PROPERTY_RUNS: '0.1' };
      await run(program, args, { cwd: tree, env, maxBuffer: 2 ** 26 });
    },
    900_000,
  );
});
