import type { Lake } from '../../../shared/ports.ts';
import { type DamagedDocument, restoreDocuments } from '../../../shared/operations/restore/index.ts';
import type { SampleLake } from '../../sync/sample-lake.ts';

/** Restores everything that is damaged; with `apply` false, only finds it. */
export function restoreAll(
  sample: SampleLake,
  lake: Lake = sample.access().lake,
  apply = true,
): Promise<DamagedDocument[]> {
  return restoreDocuments({ ...sample.access(), lake, apply, isWanted: () => true });
}
