import type { BuildOptions } from 'esbuild';
import { bundle } from '../bundle.js';

/** @param define the text of expressions, and what stands in their place @returns as of `bundle` */
export function bundleFunction(
  entry: Pick<BuildOptions, 'entryPoints' | 'stdin'>,
  folder: string,
  define: Record<string, string> = {},
) {
  return bundle(entry, folder, { target: 'node24', minify: true, define });
}
