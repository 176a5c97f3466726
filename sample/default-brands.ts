import { hash } from 'node:crypto';
import type { SampleBrand } from './brand.ts';
import { seedBrand } from './seed.ts';

const DAYS_HELD = 60;

/** Two brands in two time zones, each with records of the sixty days up to `to`. */
export function defaultBrands(to: Date): Record<'acme' | 'globex', Omit<SampleBrand, 'name' | 'baseUrl'>> {
  const from = new Date(to.getTime() - DAYS_HELD * 24 * 3_600_000);
  const brand = (name: string, bid: string, timeZone: string, seed: number) => ({
    timeZone,
    bid,
    token: hash('sha256', `token of ${name}`).slice(0, 32),
    secret: hash('sha256', `secret of ${name}`),
    records: seedBrand({ seed, timeZone, from, to }),
  });
  return {
    acme: brand('acme', '1001', 'America/New_York', 1),
    globex: brand('globex', '1002', 'Europe/Berlin', 2),
  };
}
