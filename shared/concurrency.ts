/**
 * Works through the items in order, `width` of them at a time.
 * @throws what the first worker to fail threw, after all others have come to rest
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  const workers = await Promise.allSettled(Array.from({ length: width }, worker));
  for (const ended of workers) if (ended.status === 'rejected') throw ended.reason;
}
