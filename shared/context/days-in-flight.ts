/**
 * Counts the days that a run reads or builds at the same time, because each takes some megabytes (I12). Each brand has
 * an equal share, at least one day, so that a slow service or a long history of one brand does not hold up the others.
 */
export class DaysInFlight {
  #brands: number;
  readonly #byBrand = new Map<string, number>();
  #change = Promise.withResolvers<void>();

  constructor(brands: number) {
    this.#brands = brands;
  }

  hasRoom(brand: string): boolean {
    return this.#of(brand) < Math.max(1, Math.floor(MOST / this.#brands));
  }

  /** Resolves when there may be room for another day: when the next day or brand ends. */
  changed(): Promise<void> {
    return this.#change.promise;
  }

  begin(brand: string): void {
    this.#byBrand.set(brand, this.#of(brand) + 1);
  }

  end(brand: string): void {
    this.#byBrand.set(brand, this.#of(brand) - 1);
    this.#notify();
  }

  /** Call it when a brand reads no further day: the other brands get its share. */
  leave(): void {
    this.#brands -= 1;
    this.#notify();
  }

  #of(brand: string): number {
    return this.#byBrand.get(brand) ?? 0;
  }

  #notify(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }
}

/** The most days that the settings of one brand allow: 32 days being read, and 32 days being built meanwhile. */
const MOST = 64;
