/** Works through the items in order, `width` at a time. @throws the first worker's error, after all workers have ended */
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

export async function mapConcurrent<T, Result>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachConcurrent([...items.entries()], width, async ([index, item]) => {
    results[index] = await work(item);
  });
  return results;
}
