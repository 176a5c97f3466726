/**
 * `npm run kernel` compiles this folder, which is AssemblyScript, to WebAssembly, and writes it as text into
 * `shared/records/code.ts`. Code that runs or tests the rest then needs neither a compiler nor another file.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The compiler runs in its own process, because its types of global names differ from Node's.
const COMPILER = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'));
const OPTIONS = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noColors'];
const SHIPPED = [...OPTIONS, '--noAssert'];
/** Each load and store first calls an import; copies and fills become loops of them, so that they are checked too. */
const CHECKED = [...OPTIONS, '--disable', 'bulk-memory', '--runPasses', 'instrument-memory'];
const TARGET = new URL('../shared/records/code.ts', import.meta.url);
const LINE = 100;

/** The text of `shared/records/code.ts`. @throws with the compiler's messages, including warnings */
export async function compiledKernel(): Promise<string> {
  const code = await compiled(SHIPPED);
  const lines = code.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [
    '/** The WebAssembly that `npm run kernel` compiled from the folder `kernel`, in base64. */',
    'export const KERNEL_CODE =',
    ...lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? ';' : ' +'}`),
    '',
  ].join('\n');
}

/** A build that is never shipped; `test/records/checked-kernel.ts` checks each of its loads and stores. */
export function compiledCheckedKernel(): Promise<Buffer> {
  return compiled(CHECKED);
}

async function compiled(options: readonly string[]): Promise<Buffer> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [COMPILER, 'index.ts', '--outFile', '', ...options],
    { cwd: new URL('.', import.meta.url), encoding: 'buffer' },
  );
  if (stderr.length > 0) throw new Error(stderr.toString());
  return stdout;
}

if (import.meta.main) await writeFile(TARGET, await compiledKernel());
