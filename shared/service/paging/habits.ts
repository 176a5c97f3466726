/*
 * Learns how the service pages, so that later reads need not repeat requests that have only one possible result. A
 * habit is learned from records, never from an empty response. A later read that shows the contrary replaces the habit.
 */
import type { Page } from './page.ts';

export interface PagingHabits {
  /** Records of the longest page: the service's limit for pages is not below it. */
  longest: number;
  /** Records of the shortest page that was followed by a page with records; missing: no page was followed. */
  followed?: number;
}

export function joinedHabits(known: PagingHabits, shown: PagingHabits): PagingHabits {
  const followed = Math.min(known.followed ?? Infinity, shown.followed ?? Infinity);
  return {
    longest: Math.max(known.longest, shown.longest),
    ...(followed < Infinity && { followed }),
  };
}

export class ShownHabits {
  own: PagingHabits = { longest: 0 };
  readonly #known: PagingHabits;
  #before: number | undefined;

  constructor(known: PagingHabits = { longest: 0 }) {
    this.#known = known;
  }

  add({ records: { count } }: Page): void {
    this.own = joinedHabits(this.own, {
      longest: count,
      ...(this.#before !== undefined && count > 0 && { followed: this.#before }),
    });
    this.#before = count;
  }

  /**
   * Whether a page with this many records is not full, because another page was longer. If a short page was followed by
   * another page, the service has short pages in the middle of a list, so the length of a page proves nothing.
   */
  isShort(records: number): boolean {
    const { longest, followed = longest } = joinedHabits(this.#known, this.own);
    return records < longest && followed === longest;
  }

  isFull(records: number, pageSize: number): boolean {
    const { followed = Infinity } = joinedHabits(this.#known, this.own);
    return records >= Math.min(pageSize, followed);
  }
}
