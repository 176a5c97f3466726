/**
 * `npm run kernel` compiles this folder, which is AssemblyScript, to WebAssembly, and writes that as text into
 * `shared/kernel/code.ts`: whatever runs or tests the rest needs no compiler and no file beside the code.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// A process of its own, because the compiler's types of global names are not those of Node.
const COMPILER = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'));
const OPTIONS = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noColors'];
const SHIPPED = [...OPTIONS, '--noAssert'];
/**
 * Each load and store of the optimized code calls an import first. Copies and fills are loops of loads and stores here,
 * so that they are checked too.
 */
const CHECKED = [...OPTIONS, '--disable', 'bulk-memory', '--runPasses', 'instrument-memory'];
const TARGET = new URL('../shared/kernel/code.ts', import.meta.url);
/** Characters of code. */
const LINE = 100;

/** The text of `shared/kernel/code.ts`. @throws with the compiler's messages, warnings included */
export async function compiledKernel(): Promise<string> {
  const code = await compiled(SHIPPED);
  const lines = code.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [
    '/** What `npm run kernel` made of the folder `kernel`: WebAssembly, in base64. */',
    'export const KERNEL_CODE =',
    ...lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? ';' : ' +'}`),
    '',
  ].join('\n');
}

/** A build that is never shipped: `test/kernel/checked-kernel.ts` judges each of its loads and stores. */
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
