import { parseJson } from '../../shared/base/json.ts';
import { type ReportState, NO_STATE, parseBrandState } from '../../shared/lake/report-state.ts';
import { brandStateKey } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';

/** The stored state of a report; `undefined` if the brand has no state document, or the document has no such report. */
export async function storedState(
  store: Pick<ObjectStore, 'get'>,
  report: string,
  brand: string,
): Promise<ReportState | undefined> {
  return (await read(store, brand)).document.reports[report];
}

/** Writes what the change makes of the state of a report, as another process would. */
export async function changeState(
  store: Pick<ObjectStore, 'get' | 'put'>,
  report: string,
  brand: string,
  change: (state: ReportState) => object,
): Promise<void> {
  const { document, etag } = await read(store, brand);
  const state = change(document.reports[report] ?? NO_STATE);
  const body = Buffer.from(
    JSON.stringify({ ...document, reports: { ...document.reports, [report]: state } }),
  );
  await store.put(brandStateKey(brand), body, etag === undefined ? { ifAbsent: true } : { ifMatch: etag });
}

async function read(store: Pick<ObjectStore, 'get'>, brand: string) {
  const stored = await store.get(brandStateKey(brand));
  const json = stored && parseJson(Buffer.from(stored.body).toString());
  return { document: parseBrandState(brandStateKey(brand))(json), etag: stored?.etag };
}
