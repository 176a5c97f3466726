/*
 * What the pages of a pass show of the service, so that later passes need not request again what can be only one thing. A
 * habit is learned from records that came, never from an empty response. A later pass that shows the contrary replaces it.
 */
import type { Page } from './page.ts';

/** What passes have shown of how the service pages. */
export interface PagingHabits {
  /** Records of the longest page: the service's cap on pages is not below it. */
  longest: number;
  /** Records of the shortest page that another page with records followed; missing: none was followed. */
  followed?: number;
  /** Whether the last of several pages had no `cursor` in two responses in a row; missing: no pass has shown it. */
  endsWithoutCursor?: boolean;
}

/** The habits that were known before, and those that a later pass has shown. */
export function joinedHabits(known: PagingHabits, shown: PagingHabits): PagingHabits {
  const followed = Math.min(known.followed ?? Infinity, shown.followed ?? Infinity);
  return {
    ...known,
    ...shown,
    longest: Math.max(known.longest, shown.longest),
    ...(followed < Infinity && { followed }),
  };
}

/** Collects what the pages of a pass show, in addition to what is known. */
export class ShownHabits {
  /** Of this pass alone. */
  own: PagingHabits = { longest: 0 };
  readonly #known: PagingHabits;
  #before: number | undefined;

  constructor(known: PagingHabits = { longest: 0 }) {
    this.#known = known;
  }

  add({ cursor, records: { count }, next, lacksCursor }: Page): void {
    this.own = joinedHabits(this.own, {
      longest: count,
      ...(this.#before !== undefined && count > 0 && { followed: this.#before }),
      // Without a cursor, the last of several pages was requested twice, now or when that was learned.
      ...(next === null && (cursor !== null || !lacksCursor) && { endsWithoutCursor: lacksCursor }),
    });
    this.#before = count;
  }

  /**
   * Whether a page of so many records is not full, because another page was longer. If a short page was followed by
   * another one, the service has short pages in the middle of a list, and the length of a page shows nothing.
   */
  isShort(records: number): boolean {
    const { longest, followed = longest } = joinedHabits(this.#known, this.own);
    return records < longest && followed === longest;
  }

  /** Whether a page without a cursor may stand in the middle of the list, so that its cursor got lost. */
  mayLeadOn({ cursor, records: { count } }: Page, pageSize: number): boolean {
    const { followed = Infinity, endsWithoutCursor } = joinedHabits(this.#known, this.own);
    if (count >= Math.min(pageSize, followed)) return true;
    return cursor !== null && !(endsWithoutCursor && this.isShort(count));
  }
}
