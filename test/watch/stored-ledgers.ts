import { monthOf } from '../../shared/base/days.ts';
import type { DayEntry, Committed } from '../../shared/lake/ledger.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { changeState } from '../fakes/report-states.ts';
import { readAt } from '../planning/entries.ts';

/** Settings of the brand acme, in UTC, that enable its orders alone. */
export function ordersFrom(startDate: string): Settings {
  const off = { enabled: false };
  const acme = {
    ...{ baseUrl: 'https://service.example/api/brand', service: 'ACME', secretName: 'brand-reports/acme' },
    ...{ timeZone: 'UTC', startDate },
    reports: { clicks_list: off, transaction_list: off, amazon_attribution_report: off },
  };
  return parseSettings({ brands: { acme } }, reports);
}

/** A committed reading of a whole day, with the queries of the settings. */
export function readDay(settings: Settings, report: string, changes: Partial<Committed> = {}): DayEntry {
  const definition = reports[report];
  const queryFingerprint = definition && enabledPolicy(settings, 'acme', definition)?.queryFingerprint;
  const standard = { rows: 1234, bytes: 100, digest: '3:ab', state: 'settled' as const };
  return readAt('2026-11-01T10:00:00.000Z', {
    ...standard,
    readTo: '2026-11-01T05:00:00.000Z',
    queryFingerprint: queryFingerprint ?? '',
    ...changes,
  });
}

/** Stores the days in the ledgers of their months, and a report state without months. */
export async function storeDays(
  store: ObjectStore,
  { report, brand }: { report: string; brand: string },
  days: Record<string, DayEntry>,
): Promise<void> {
  const head = { report, brand, recentWrites: [] };
  for (const [month, entries] of Map.groupBy(Object.entries(days), ([day]) => monthOf(day))) {
    await put(store, ledgerKey(report, brand, month), { ...head, month, days: Object.fromEntries(entries) });
  }
  await changeState(store, report, brand, (state) => ({ ...state, months: {}, hasReturnedRecords: true }));
}

async function put(store: ObjectStore, key: string, document: object): Promise<void> {
  await store.put(key, Buffer.from(JSON.stringify(document)), { ifAbsent: true });
}
