import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Installs these packages into `.venv-<name>` of the checkout if they are missing. @returns the folder of its programs */
export async function pythonPackages(name: string, packages: readonly string[]): Promise<string> {
  const folder = `${root}.venv-${name}`;
  const installed = await readFile(`${folder}/installed`, 'utf8').catch(() => '');
  if (installed !== packages.join('\n')) {
    await execute('python3', ['-m', 'venv', '--clear', folder]);
    await execute(`${folder}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', ...packages]);
    await writeFile(`${folder}/installed`, packages.join('\n'));
  }
  return `${folder}/bin`;
}
