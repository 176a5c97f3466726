/**
 * Runs a command and measures it from outside: wall clock, the CPU of its process tree, and the tree's peak memory.
 * The CPU comes from bash, which adds up the CPU of the children that it waited for, and of theirs.
 * Memory is read from /proc ten times a second. For a single process it is the kernel's own peak, for several processes
 * the sum of their proportional shares.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The root of the repository, in which every command runs. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const { NODE_EXTRA_CA_CERTS: _certificates, ...others } = process.env;
/** Without extra certificates, which every Node of this machine would read: nothing here uses TLS. */
export const ENVIRONMENT = others;

export interface Command {
  program: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface Measured {
  cpuMs: number;
  wallMs: number;
  /** 0 if the machine has no /proc. */
  peakMb: number;
  /** `null` if the command was killed. */
  code: number | null;
  killed: boolean;
  stdout: string;
  stderr: string;
}

const SAMPLE_MS = 100;
const KB_PER_MB = 1024;

/** @param killWhen the command and its children are killed (SIGKILL) as soon as this promise resolves */
export async function measure(command: Command, killWhen?: Promise<unknown>): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'brand-reports-measure-'));
  const times = join(folder, 'times');
  const script = 'TIMEFORMAT="%3U %3S %3R"; { time "$@" 2>&3 3>&-; } 3>&2 2>"$0"';
  // In its own process group, so that a kill reaches the workers of a competitor too.
  const child = spawn('bash', ['-c', script, times, command.program, ...command.args], {
    cwd: ROOT,
    detached: true,
    env: { ...ENVIRONMENT, ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const group = child.pid;
  if (group === undefined) throw new Error('bash cannot be started');
  let peakMb = 0;
  const sampling = setInterval(() => {
    void treeMb(group).then((mb) => {
      peakMb = Math.max(peakMb, mb);
    });
  }, SAMPLE_MS);
  let killed = false;
  void killWhen?.then(() => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    killed = true;
    process.kill(-group, 'SIGKILL');
  });
  try {
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    // A killed command has no times.
    const [user = 0, system = 0, real = 0] = killed
      ? []
      : (await readFile(times, 'utf8')).trim().split(' ').map(Number);
    return {
      cpuMs: (user + system) * 1000,
      wallMs: real * 1000,
      peakMb,
      code: typeof code === 'number' ? code : null,
      killed,
      stdout,
      stderr,
    };
  } finally {
    clearInterval(sampling);
    await rm(folder, { recursive: true, force: true });
  }
}

async function treeMb(group: number): Promise<number> {
  const pids = await processesOf(group).catch(() => []);
  const [only, ...others] = pids;
  if (only === undefined) return 0;
  if (others.length === 0) return mbOf(only, 'status', 'VmHWM');
  const shares = await Promise.all(pids.map((pid) => mbOf(pid, 'smaps_rollup', 'Pss')));
  return shares.reduce((sum, share) => sum + share, 0);
}

/** The processes of a group without its leader, which is the bash that started them. */
async function processesOf(group: number): Promise<string[]> {
  // Only processes with higher numbers: reading every process of the machine would cost as much as the command.
  const pids = (await readdir('/proc')).filter((name) => Number(name) > group);
  const groups = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // The name before it is in brackets and may contain spaces.
      return stat.slice(stat.lastIndexOf(')')).split(' ')[3];
    }),
  );
  return pids.filter((_pid, index) => groups[index] === String(group));
}

/** In MB; 0 if the process has ended. */
async function mbOf(pid: string, file: string, name: string): Promise<number> {
  const content = await readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(content)?.[1] ?? 0) / KB_PER_MB;
}
