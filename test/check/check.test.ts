import { expect, it } from '@jest/globals';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { runCheck } from '../../shared/check/check.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

const acme = {
  baseUrl: 'https://changed.example.com/acme',
  service: 'ACME',
  timeZone: 'UTC',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};

it('I9: the connection test reports credentials for another address once, and sends no request', async () => {
  const outcome = await runCheck({
    lake: { store: memoryStore(), runs: blindRegistry, catalog: memoryCatalog() },
    clock: systemClock(undefined),
    log: () => undefined,
    random: Math.random,
    newId: () => 'a-run',
    settings: parseSettings({ brands: { acme } }, reports),
    reports,
    credentials: {
      read: async () => ({ bid: 'b1', token: 't1', secret: 's1', baseUrl: 'https://api.example.com/acme' }),
    },
    send: () => {
      throw new Error('a request was sent');
    },
    scope: {},
  });
  const message =
    /^config: .* to https:\/\/changed\.example\.com\/acme, .* for https:\/\/api\.example\.com\/acme only/;
  expect(outcome).toEqual({
    status: 'failed',
    brands: [
      {
        brand: 'acme',
        clockSkewMs: 0,
        findings: [{ level: 'error', code: 'other_base_url', message: expect.stringMatching(message) }],
        reports: [],
      },
    ],
  });
});
