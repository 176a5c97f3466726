import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Plain JavaScript that any Node from version 20 on understands: it finds a Node that runs the rest.

const bundled = fileURLToPath(
  new URL(`./node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url),
);

/**
 * Runs a program: TypeScript, or its bundle. By a newer Node where this one is too old.
 * @param {URL} main
 */
export async function launch(main) {
  if (isNewEnough()) {
    const compiled = compiledFolder();
    if (compiled !== undefined) module.enableCompileCache(compiled);
    process.removeAllListeners('warning');
    process.on('warning', (warning) => {
      if (warning.name !== 'ExperimentalWarning') console.error(String(warning));
    });
    if (main.pathname.endsWith('.ts')) await import(main.href);
    else (await import('./run-bundle.js')).runBundle(fileURLToPath(main));
  } else if (existsSync(bundled)) {
    await runWith(bundled, main);
  } else {
    console.error(
      `brand-reports needs Node 22.18 or newer, and this is ${process.version}. Install Node 24 (https://nodejs.org), ` +
        'or on Linux run "npm ci" in the repository, which brings Node 24 along.',
    );
    process.exitCode = 2;
  }
}

/**
 * Compiled code is kept in a folder of the user's own: it halves the start, and nobody else may put code there.
 * @returns `undefined` where the user has none
 */
function compiledFolder() {
  const { XDG_CACHE_HOME: caches = '' } = process.env;
  try {
    const folder = isAbsolute(caches) ? caches : join(homedir(), '.cache');
    return isAbsolute(folder) ? join(folder, 'brand-reports', 'compiled') : undefined;
  } catch {
    // A user without a name, as in a container.
    return undefined;
  }
}

/** TypeScript runs as it is from Node 22.18 on, and ZSTD is there since 22.15. */
function isNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return Boolean(process.features.typescript) && (major > 22 || (major === 22 && minor >= 18));
}

/** @param {string} node @param {URL} main */
async function runWith(node, main) {
  const { spawn } = await import('node:child_process');
  const child = spawn(
    node,
    ['--disable-warning=ExperimentalWarning', fileURLToPath(main), ...process.argv.slice(2)],
    { stdio: 'inherit', env: { NODE_COMPILE_CACHE: compiledFolder(), ...process.env } },
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`${node} cannot be started: ${error.message}. Run "npm ci" again.`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
