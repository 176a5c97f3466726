/**
 * The days that a run reads or builds at the same time, of all brands. Each takes some megabytes (I12), and a run may have
 * a hundred brands: a brand may always read one, so that none waits for another, and further ones while there are few.
 */
export class DaysInFlight {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether a brand may begin another day beside the one that it reads. */
  get hasRoom(): boolean {
    return this.#count < MOST;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
  }
}

/** What one brand has at most by its settings: 32 that are read, and as many that are built meanwhile. */
const MOST = 64;
