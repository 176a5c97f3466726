import { monthOf } from '../days.ts';
import type { DayEntry, Ledger } from '../lake/documents/ledger.ts';
import { partitionPath } from '../lake/paths.ts';
import type { ListedObject } from '../ports.ts';
import type { RunContext } from './context.ts';

const SNAPSHOT_MS = 86_400_000;
const ATTEMPT_MS = 7 * 86_400_000;

/**
 * Removes what nothing names: snapshots older than a day that neither ledger nor catalog name, attempts that no
 * ledger names after a week. Only here is anything of the lake deleted, by the report's own runs.
 * @returns how many objects were deleted
 */
export async function vacuum(run: RunContext): Promise<number> {
  const { report, brand, lake } = run;
  const pointers = await lake.catalog?.snapshotsByPartition(report.table, [['brand', brand]]);
  const pointed = new Set([...(pointers?.values() ?? [])].flat());
  const snapshots = await removableObjects(run, `snapshots/${report.table}/`, SNAPSHOT_MS, (id, entry) => {
    const isRead = (at: string) => run.clock.wallMs() - Date.parse(at) < SNAPSHOT_MS;
    const superseded = entry.superseded?.some(({ snapshot, at }) => snapshot === id && isRead(at));
    return !pointed.has(id) && entry.committed?.snapshot !== id && !superseded && !entry.claim;
  });
  const attempts = await removableObjects(
    run,
    `raw/${report.name}/`,
    ATTEMPT_MS,
    (id, entry) => entry.committed?.attempt !== id && entry.claim?.attempt !== id,
  );
  const coverage = await superseded(run);
  const keys = [...snapshots, ...attempts, ...coverage];
  if (keys.length > 0) await lake.store.delete(keys);
  return keys.length;
}

/** The objects under `<prefix>brand=…/dt=…/<id>/` that are all old enough and that the day's entry does not name. */
async function removableObjects(
  run: RunContext,
  prefix: string,
  ageMs: number,
  isUnnamed: (id: string, entry: DayEntry) => boolean,
): Promise<string[]> {
  const brandPrefix = `${prefix}${partitionPath([['brand', run.brand]])}/`;
  const groups = new Map<string, ListedObject[]>();
  for await (const object of run.lake.store.list(brandPrefix)) {
    const [day = '', id = ''] = object.key.slice(brandPrefix.length).split('/');
    const group = `${day.replace('dt=', '')}/${id}`;
    groups.set(group, [...(groups.get(group) ?? []), object]);
  }
  const keys: string[] = [];
  const ledgers = new Map<string, Promise<Ledger>>();
  for (const [group, objects] of groups) {
    const newest = Math.max(...objects.map(({ modifiedAt }) => modifiedAt.getTime()));
    if (run.clock.wallMs() - newest < ageMs) continue;
    const [day = '', id = ''] = group.split('/');
    const month = monthOf(day);
    const ledger = ledgers.get(month) ?? run.ledger(month).refresh();
    ledgers.set(month, ledger);
    const entry = (await ledger).days[day] ?? {};
    if (isUnnamed(id, entry)) keys.push(...objects.map(({ key }) => key));
  }
  return keys;
}

/** Coverage keeps no state of its own: what the catalog does not point at is of use to no one but a running query. */
async function superseded(run: RunContext): Promise<string[]> {
  const { brand, report, lake, clock } = run;
  if (!lake.catalog) return [];
  const leading = [
    ['brand', brand],
    ['report', report.name],
  ] as const;
  const pointed = new Set(
    [...(await lake.catalog.snapshotsByPartition('coverage', leading)).values()].flat(),
  );
  const keys: string[] = [];
  for await (const { key, modifiedAt } of lake.store.list(`snapshots/coverage/${partitionPath(leading)}/`)) {
    const id = key.split('/').at(-2) ?? '';
    if (!pointed.has(id) && clock.wallMs() - modifiedAt.getTime() >= SNAPSHOT_MS) keys.push(key);
  }
  return keys;
}
