/** Tests every life of a brand in the same way, short lives and lives of two months. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DAY_MS, MINUTE_MS, monthOf } from '../../shared/days.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { wrongAsOf, wrongClose } from './as-of.ts';
import { type LifePlan, type LivedLife, hardships, live } from './months.ts';
import { writeFiles } from './published.ts';
import { replayChanges } from './replay.ts';

/** LIVING_SEEDS=20 runs more; a failing seed is in the title of its tests. */
const SEEDS = Array.from({ length: Number(process.env.LIVING_SEEDS ?? 1) }, (_, index) => index + 1);
/** LIVING_DAYS=61 runs a whole life. */
const DAYS = Number(process.env.LIVING_DAYS ?? 14);

/** `snapshotRetentionDays` is 30. */
const KEPT_MS = 29 * DAY_MS;

/** Two months take one or two minutes of CPU, on a machine that may be busy. */
const LIFE_TIMEOUT_MS = 15 * MINUTE_MS;

function itLives(plan: LifePlan): void {
  let life: LivedLife;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    life = await live(plan);
    folder = await temporaryFolder();
    await writeFiles(life.pipeline.lake, folder.path);
  }, LIFE_TIMEOUT_MS);
  afterAll(async () => {
    await folder.remove();
    await life.close();
  });

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

  it('shows every closed version of a day from its current records and what they were before', async () => {
    const { findings, days, changes } = await replayChanges(life.pipeline.lake, life.judge);
    expect(findings).toEqual([]);
    expect(days).toBeGreaterThan(plan.days);
    expect(changes).toBeGreaterThan(3 * plan.days);
  });

  it('answers queries as of the end of earlier runs', async () => {
    const runs = life.judge.moments.filter(({ atMs }) => atMs > life.time.nowMs - KEPT_MS);
    for (const share of [0, 0.4, 0.8]) {
      const { atMs = 0 } = runs[Math.floor(share * runs.length)] ?? {};
      expect(await wrongAsOf(life, folder.path, atMs)).toEqual([]);
    }
  });

  it('records each transition of orders and transactions as the readings showed it', () => {
    const { figures } = life.books;
    expect(Math.min(figures.gone, figures.moved)).toBeGreaterThan(plan.days / 2);
  });

  it('keeps closed months as they were at their close', async () => {
    const isWithin = monthOf(life.brand.days[0] ?? '') === monthOf(life.brand.days.at(-1) ?? '');
    expect(life.closes).toHaveLength(isWithin ? 0 : 2);
    for (const close of life.closes) expect(await wrongClose(life, folder.path, close)).toEqual([]);
  });

  it('reports each emptied day once, and little else', () => {
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
    const reported = [...life.judge.odd].flatMap((odd) => (odd.startsWith('emptied ') ? [odd.slice(8)] : []));
    expect(reported.toSorted()).toEqual([...new Set(emptied)].toSorted());
    const ofStates = /^(reversed_after_paid|paid_without_locked|commission_above_amount|currency_changed) /;
    const others = [...life.judge.odd].filter((odd) => !odd.startsWith('emptied ') && !ofStates.test(odd));
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
