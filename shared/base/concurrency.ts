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

/** Joins work on one thing: what is added before a piece of work takes its items is done in it, and the rest in the next. */
export class Batch<T> {
  #waiting: T[] = [];
  #next: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();

  add(item: T, work: (take: () => T[]) => Promise<void>): Promise<void> {
    this.#waiting.push(item);
    let taken: T[] | undefined;
    const take = () => {
      if (taken) return taken;
      taken = this.#waiting;
      [this.#waiting, this.#next] = [[], undefined];
      return taken;
    };
    const next = this.#next ?? this.#last.then(() => work(take)).finally(take);
    this.#next = next;
    this.#last = next.catch(() => {});
    return next;
  }
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
