/*
 * Brands that end at about the same time share a commit to the Iceberg table of a report, because all brands share the
 * table. With a commit for each of 300 hourly brands, the metadata would name 7,200 snapshots of the last 24 hours.
 */
import type { BrandReport } from '../context/context.ts';
import { MINUTE_MS } from '../base/days.ts';
import { type IcebergChange, publishIceberg } from '../catalog/iceberg/index.ts';
import { BRANDS_AT_ONCE } from './turns.ts';

/** Fewer than the brands that run at once, so that there are always brands whose end makes a commit due. */
const MOST_WAITING = BRANDS_AT_ONCE / 2;

export interface EndingReport extends IcebergChange {
  /** Whether snapshots whose time is over are dropped even if nothing has changed. */
  expires: boolean;
}

export class IcebergCommits {
  /** What was thrown, by the report whose commit failed. */
  readonly failures = new Map<BrandReport, unknown>();
  #running = 0;
  #waiting: { reports: readonly EndingReport[]; resolve: () => void }[] = [];
  #stopTimer = () => {};

  /** Runs a brand. The others do not wait for it after its end. */
  async brand<T>(act: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await act();
    } finally {
      this.#running -= 1;
      this.#commitIfDue();
    }
  }

  /** Commits the reports of a brand: when enough brands or all running brands wait for it, or after a minute. */
  commit(reports: readonly EndingReport[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ reports, resolve });
    const [first] = reports;
    if (first && this.#waiting.length === 1)
      this.#stopTimer = first.of.clock.every(MINUTE_MS, () => this.#commit());
    this.#commitIfDue();
    return promise;
  }

  #commitIfDue(): void {
    const { length } = this.#waiting;
    if (length > 0 && length >= Math.min(MOST_WAITING, this.#running)) this.#commit();
  }

  #commit(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#stopTimer();
    void this.#commitAll(waiting.flatMap(({ reports }) => reports)).then(() => {
      for (const { resolve } of waiting) resolve();
    });
  }

  async #commitAll(ending: readonly EndingReport[]): Promise<void> {
    for (const reports of Map.groupBy(ending, ({ of }) => of.report.name).values())
      try {
        const [first] = reports;
        const mode = reports.some(({ expires }) => expires) ? 'expire' : undefined;
        if (first) await publishIceberg(first.of, reports, mode);
      } catch (thrown) {
        for (const { of } of reports) this.failures.set(of, thrown);
      }
  }
}
