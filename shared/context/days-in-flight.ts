/**
 * The days that a run reads or builds at the same time. Each takes some megabytes (I12), and a run may have a hundred
 * brands: each has its share, and one day in any case, so that neither a slow service nor a long history of one takes
 * the room of the others.
 */
export class DaysInFlight {
  /** Those that may still read a day. */
  #brands: number;
  readonly #byBrand = new Map<string, number>();
  #change = Promise.withResolvers<void>();

  /** @param brands how many the run has */
  constructor(brands: number) {
    this.#brands = brands;
  }

  /** Of all brands. */
  get count(): number {
    return this.#byBrand.values().reduce((sum, days) => sum + days, 0);
  }

  /** Whether the brand may begin a day now. */
  hasRoom(brand: string): boolean {
    return this.#of(brand) < Math.max(1, Math.floor(MOST / this.#brands));
  }

  /** Resolves when there may be more room: at the next end of a day or of a brand. */
  changed(): Promise<void> {
    return this.#change.promise;
  }

  begin(brand: string): void {
    this.#byBrand.set(brand, this.#of(brand) + 1);
  }

  end(brand: string): void {
    this.#byBrand.set(brand, this.#of(brand) - 1);
    this.#tell();
  }

  /** A brand reads no further day: its share is for the others. */
  leave(): void {
    this.#brands -= 1;
    this.#tell();
  }

  #of(brand: string): number {
    return this.#byBrand.get(brand) ?? 0;
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }
}

/** What one brand has at most by its settings: 32 that are read, and as many that are built meanwhile. */
const MOST = 64;
