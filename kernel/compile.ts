/**
 * `npm run kernel` compiles this folder, which is AssemblyScript, to WebAssembly, and writes that as text into
 * `shared/kernel/code.ts`: whatever runs or tests the rest needs no compiler and no file beside the code.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { main } from 'assemblyscript/asc';

const OPTIONS = ['-O3', '--runtime', 'stub', '--noAssert', '--enable', 'simd', '--noColors'];
const TARGET = new URL('../shared/kernel/code.ts', import.meta.url);
/** Of code in base64. */
const LINE = 100;

/** The text of `shared/kernel/code.ts`. @throws with the compiler's messages, warnings included */
export async function compiledKernel(): Promise<string> {
  let code = '';
  const baseDir = fileURLToPath(new URL('.', import.meta.url));
  const { error, stderr } = await main(
    ['index.ts', '--baseDir', baseDir, '--outFile', 'kernel.wasm', ...OPTIONS],
    {
      writeFile: (_name, contents) => {
        code = Buffer.from(contents).toString('base64');
      },
    },
  );
  const messages = stderr.toString();
  if (error || messages) throw new Error(messages || String(error));
  const lines = code.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [
    '/** What `npm run kernel` made of the folder `kernel`: WebAssembly, in base64. */',
    'export const KERNEL_CODE =',
    ...lines.map((line, index) => `  '${line}'${index === lines.length - 1 ? ';' : ' +'}`),
    '',
  ].join('\n');
}

if (import.meta.main) await writeFile(TARGET, await compiledKernel());
