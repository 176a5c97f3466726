import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

// Plain JavaScript that any Node from version 20 on understands: it finds a Node that runs the rest.

/** A checkout and a global installation have their packages inside, other installations have them beside this one. */
const bundledNode = ['../node_modules/', '../../']
  .map((packages) => `${packages}node-${process.platform}-${process.arch}/bin/node`)
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

/** Runs a program, by a newer Node if this one is too old. @param {URL} main */
export async function launch(main) {
  const compiled = main.pathname.endsWith('.ts') ? compiledFolder() : undefined;
  if (isNewEnough()) {
    if (compiled !== undefined) module.enableCompileCache(compiled);
    process.removeAllListeners('warning');
    process.on('warning', (warning) => {
      // It may quote text from outside, which must not steer the terminal.
      const text = String(warning).replaceAll(/[^\n\x20-\x7e]/g, '?');
      if (warning.name !== 'ExperimentalWarning') console.error(text);
    });
    await import(main.href);
  } else if (bundledNode !== undefined) {
    await runWith(bundledNode, main, compiled);
  } else {
    console.error(
      `brand-reports needs Node 22.18 or newer, and this is ${process.version}. Install Node 24 (https://nodejs.org), ` +
        'or on Linux run "npm ci --ignore-scripts" in the repository, which brings Node 24 along.',
    );
    process.exitCode = 2;
  }
}

/**
 * Node keeps the compiled sources of a checkout here, which halves a start (`status` 365 → 173 ms of CPU; a bundle would gain
 * 8). It runs what it finds, so the folder must belong to this user and be closed to all others.
 * @returns `undefined` if there is no such folder
 */
function compiledFolder() {
  const folder = fileURLToPath(new URL('../node_modules/.cache/brand-reports', import.meta.url));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    return uid === process.getuid?.() && (mode & 0o777) === 0o700 ? folder : undefined;
  } catch {
    // A read-only checkout.
    return undefined;
  }
}

/** TypeScript runs as it is from Node 22.18 on, and ZSTD is there since 22.15. */
function isNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return Boolean(process.features.typescript) && (major > 22 || (major === 22 && minor >= 18));
}

/** @param {string} node @param {URL} main @param {string | undefined} compiled */
async function runWith(node, main, compiled) {
  const { spawn } = await import('node:child_process');
  const child = spawn(
    node,
    ['--disable-warning=ExperimentalWarning', fileURLToPath(main), ...process.argv.slice(2)],
    { stdio: 'inherit', env: { NODE_COMPILE_CACHE: compiled, ...process.env } },
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${node} cannot be started: ${error.message}. Run "npm ci" again.`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
