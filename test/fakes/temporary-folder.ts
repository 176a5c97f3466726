/** Creates a folder for one test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'brand-reports-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
