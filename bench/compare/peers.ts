/** Creates the Python environment of the peers, if it is missing or its pinned versions have changed. */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Competitor, peersIn } from './competitors.ts';

const requirements = fileURLToPath(new URL('../peers/requirements.txt', import.meta.url));
const environment = fileURLToPath(new URL('../peers/.venv/', import.meta.url));
const run = promisify(execFile);

export type Peers = { competitors: Competitor[]; versions: string } | { missing: string };

/** @param install false: a missing environment stays missing */
export async function findPeers(install: boolean): Promise<Peers> {
  const installed = `${environment}installed`;
  const wanted = await readFile(requirements, 'utf8');
  const python = `${environment}bin/python`;
  if ((await readFile(installed, 'utf8').catch(() => '')) !== wanted) {
    if (!install) return { missing: 'bench/peers/.venv does not exist: npm run bench creates it' };
    console.error('Installing the competitors into bench/peers/.venv …');
    try {
      await rm(environment, { recursive: true, force: true });
      await run('python3', ['-m', 'venv', environment]);
      await run(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements]);
    } catch (error) {
      const [reason] = String(error instanceof Error ? error.message : error).split('\n');
      return { missing: `Python 3.10 or newer with venv and pip is needed (${reason})` };
    }
    await writeFile(installed, wanted);
  }
  const { stdout } = await run(python, ['--version']);
  const pins = wanted.split('\n').filter((line) => line.includes('=='));
  return {
    competitors: peersIn(python),
    versions: [stdout.trim(), ...pins].join(', ').replaceAll('==', ' '),
  };
}
