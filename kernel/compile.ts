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
const OPTIONS = ['-O3', '--runtime', 'stub', '--noAssert', '--enable', 'simd', '--noColors'];
const TARGET = new URL('../shared/kernel/code.ts', import.meta.url);
/** Characters of code. */
const LINE = 100;

/** The text of `shared/kernel/code.ts`. @throws with the compiler's messages, warnings included */
export async function compiledKernel(): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [COMPILER, 'index.ts', '--outFile', '', ...OPTIONS],
    { cwd: new URL('.', import.meta.url), encoding: 'buffer' },
  );
  if (stderr.length > 0) throw new Error(stderr.toString());
  const lines = stdout.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [
    '/** What `npm run kernel` made of the folder `kernel`: WebAssembly, in base64. */',
    'export const KERNEL_CODE =',
    ...lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? ';' : ' +'}`),
    '',
  ].join('\n');
}

if (import.meta.main) await writeFile(TARGET, await compiledKernel());
