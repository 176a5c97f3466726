import { keysOf } from '../records/record-keys.ts';
import type { RecordList } from '../records/record-list.ts';

/**
 * I1: decides which looked-up records belong to the day if several slices have looked some up. A record of the upstream
 * day keeps the answer of the newest slice that found it; what was found for any other record is left out.
 * @param ownerOf returns the upstream record that a response is about, by the key in the response
 * @returns to be called for each slice, the newest first
 */
export function newestAnswers(
  answerField: string,
  ownerOf: (answered: string) => string | undefined,
): () => (list: RecordList) => (index: number) => boolean {
  /** By upstream record, the number of the slice whose answer stays. */
  const sliceOf = new Map<string, number>();
  let slices = 0;
  return () => {
    slices += 1;
    const own = slices;
    return (list) => {
      const keys = keysOf(list, answerField);
      return (index) => {
        const owner = ownerOf(keys[index] ?? '');
        if (owner === undefined) return false;
        if (!sliceOf.has(owner)) sliceOf.set(owner, own);
        return sliceOf.get(owner) === own;
      };
    };
  };
}
