/** Tests every life of a brand in the same way, short lives and lives of two months. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MINUTE_MS } from '../../shared/days.ts';
import { type LifePlan, type LivedLife, hardships, live } from './months.ts';

/** LIVING_SEEDS=20 runs more; a failing seed is in the title of its tests. */
const SEEDS = Array.from({ length: Number(process.env.LIVING_SEEDS ?? 1) }, (_, index) => index + 1);
/** LIVING_DAYS=61 runs a whole life. */
const DAYS = Number(process.env.LIVING_DAYS ?? 14);

/** Two months take one or two minutes of CPU, on a machine that may be busy. */
const LIFE_TIMEOUT_MS = 15 * MINUTE_MS;

function itLives(plan: LifePlan): void {
  let life: LivedLife;
  beforeAll(async () => {
    life = await live(plan);
  }, LIFE_TIMEOUT_MS);
  afterAll(() => life.close());

  it('sends only requests that the interface allows, and every run is complete', () => {
    expect(life.service.violations).toEqual([]);
    if (!plan.hardships) expect(life.outcomes.filter(({ status }) => status !== 'complete')).toEqual([]);
    expect(life.outcomes.at(-1)?.status).toBe('complete');
  });

  it('leaves in every partition, after every run, the records that the service had at the day’s last reading', () => {
    expect(life.judge.findings).toEqual([]);
    const { readings, changedWhileRead } = life.judge.figures;
    expect(readings).toBeGreaterThan(25 * plan.days);
    expect(changedWhileRead).toBeLessThan(readings / 20);
  });

  it('keeps and reports each day that comes back empty, and reports little else', () => {
    const emptied = [...life.judge.seen].flatMap(([name, versions]) =>
      versions.flatMap(({ rows }, index) => {
        const before = versions[index - 1];
        const isEmptied =
          rows.length === 0 &&
          before !== undefined &&
          before.committed.state !== 'open' &&
          before.rows.length > 0;
        return isEmptied ? [name] : [];
      }),
    );
    const isKept = (odd: string) => odd.startsWith('came_back_empty ');
    expect(emptied).toEqual([]);
    expect([...life.judge.odd].filter(isKept)).not.toEqual([]);
    const ofStates = /^(reversed_after_paid|paid_without_locked|commission_above_amount|currency_changed) /;
    const others = [...life.judge.odd].filter((odd) => !isKept(odd) && !ofStates.test(odd));
    // The busy days, and a sum whose numbers became text.
    if (!plan.hardships) expect(others.length).toBeLessThanOrEqual(10);
  });
}

describe.each(SEEDS)('a brand that lives for two weeks or more, with a month’s end, seed %i,', (seed) => {
  itLives({ seed, days: DAYS, lake: 'memory', ...(DAYS < 61 && { firstDay: '2026-03-22' }) });
});

describe.each(SEEDS)('a brand that lives for two weeks while everything goes wrong, seed %i,', (seed) => {
  itLives({ seed, days: 14, lake: 'memory', hardships, firstDay: '2026-03-22' });
});

describe('a brand that lives for ten days, in a folder', () => {
  itLives({ seed: 100, days: 10, lake: 'folder' });
});
