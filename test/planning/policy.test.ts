import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../shared/base/json.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import { enabledPolicy, policyFingerprint, policyOf } from '../../shared/planning/policy.ts';
import { queryFingerprint } from '../../shared/planning/day-queries.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { policy } from './entries.ts';

function settingsWith(brand: JsonObject = {}) {
  const acme = {
    baseUrl: 'https://brand.example/api',
    service: 'S',
    secretName: 'acme',
    timeZone: 'UTC',
    startDate: '2026-03-01',
    ...brand,
  };
  return parseSettings({ brands: { acme } }, reports);
}

describe('the policy of a report', () => {
  it('has the settings that decide when its days are due', () => {
    const { brands, deployment } = settingsWith({
      startDate: '2026-03-05',
      lateMinutes: 7,
      reports: {
        order_list: { every: '6 hours', refresh: [{ untilAgeDays: 3, every: '5 hours' }] },
      },
    });
    const { acme } = brands;
    const own = acme?.reports.order_list;
    if (!acme || !own) throw new Error('acme reads orders');
    expect(policyOf(orders, acme, own, deployment)).toEqual({
      timeZone: 'UTC',
      startDate: '2026-03-05',
      lateMinutes: 7,
      refresh: own.refresh,
      queryFingerprint: queryFingerprint(orders, acme, own),
      everyMs: 6 * HOUR_MS,
      maxGapMs: 6 * HOUR_MS,
      fields: {},
      words: {},
    });
  });

  it.each<[string, ReturnType<typeof settingsWith> | undefined]>([
    ['that has no settings', undefined],
    ['that is disabled', settingsWith({ reports: { order_list: { enabled: false } } })],
  ])('is undefined for a report %s', (_name, settings) => {
    expect(enabledPolicy(settings, 'acme', orders)).toBeUndefined();
  });

  it('is undefined for a brand that the settings do not have', () => {
    expect(enabledPolicy(settingsWith(), 'globex', orders)).toBeUndefined();
  });
});

describe('the fingerprint of a policy', () => {
  it('is short, and changes with every setting that due times depend on', () => {
    expect(policyFingerprint(policy)).toMatch(/^[0-9a-f]{16}$/);
    expect(policyFingerprint({ ...policy, lateMinutes: policy.lateMinutes + 1 })).not.toBe(
      policyFingerprint(policy),
    );
    const others = [{ words: { Annulled: 'void' } }, { fields: { state: 'stage' } }];
    for (const change of others)
      expect(policyFingerprint({ ...policy, ...change })).not.toBe(policyFingerprint(policy));
  });

  it('does not change with the schedule because it makes no day due', () => {
    const other = { ...policy, maxGapMs: policy.maxGapMs + 1 };
    expect(policyFingerprint(other)).toBe(policyFingerprint(policy));
  });
});
