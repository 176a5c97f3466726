/**
 * Checks the invariants of a history at every moment, by watching all operations of the lake:
 * - a closed day is committed only as one full read that began after its end, is never opened again, and is never
 *   replaced by an earlier reading;
 * - a catalog points only at committed snapshots;
 * - a reader reads a snapshot whole, however long that takes.
 */
import { MINUTE_MS, HOUR_MS, endOfDay } from '../../shared/base/days.ts';
import type { Json } from '../../shared/base/json.ts';
import { type Committed, parseLedger } from '../../shared/lake/ledger.ts';
import { parseProgress } from '../../shared/lake/progress.ts';
import { readSchema } from '../../shared/lake/read.ts';
import { parseLedgerKey } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { BRAND, rowsOf } from '../simulation/contents.ts';
import type { Random } from '../simulation/random.ts';
import type { Timeline } from '../simulation/timeline.ts';
import type { SimulatedLake } from '../simulation/lake.ts';
import { textOfRow, unlike } from '../table/row-mapper.ts';
import { type World, hasChangedSince, lateMinutes, recordsHeld } from './world.ts';

/** The faults, by kind. */
export type Kind = 'lost' | 'doubled' | 'torn' | 'leaked' | 'other';

export interface Finding {
  kind: Kind;
  what: string;
}

export interface Watch {
  readonly findings: Finding[];
  report(kind: Kind, what: string): void;
  readonly committedSnapshots: Set<string>;
}

export interface Watched {
  lake: SimulatedLake;
  world: World;
  time: Timeline;
  watch: Watch;
}

/** A clock that nothing corrected may date a closed day: within the limit that the service accepts. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

/** Watches every write of the lake from now on. @returns the lake to use from now on */
export function watched({ lake, world, time, watch }: Watched): SimulatedLake {
  const committed = new Map<string, Committed>();
  /** By attempt and its stated time: when its last slice really began to be read. */
  const begunMs = new Map<string, number>();
  /** By attempt and run: when it was claimed. A new attempt has no progress document until it has pages, or its lease is renewed. */
  const claimedMs = new Map<string, number>();
  /** Attempts that have a progress document. */
  const documented = new Set<string>();
  const closedBeginMs = new Map<string, number>();

  async function afterPut(key: string, body: Uint8Array): Promise<void> {
    if (key.endsWith('/progress.json')) return noteBeginning(key, body);
    const scope = parseLedgerKey(key);
    const report = world.reports.find(({ name }) => name === scope?.report);
    if (!scope || !report) return;
    const { days } = parseLedger(key, scope)(jsonOf(body));
    for (const [day, entry] of Object.entries(days)) {
      const name = `${report.name} ${day}`;
      const before = committed.get(name);
      const claim = `${entry.claim?.attempt} ${entry.claim?.runId}`;
      if (entry.claim && !claimedMs.has(claim)) claimedMs.set(claim, time.nowMs);
      if (!entry.committed || JSON.stringify(before) === JSON.stringify(entry.committed)) continue;
      committed.set(name, entry.committed);
      watch.committedSnapshots.add(entry.committed.snapshot);
      if (!entry.disregarded && (!before || readingOf(before) !== readingOf(entry.committed)))
        await judge(report, day, before, entry.committed);
    }
  }

  function noteBeginning(key: string, body: Uint8Array): void {
    const attempt = key.split('/').at(-2) ?? '';
    const { slices, run } = parseProgress(key)(jsonOf(body));
    const slice = slices.at(-1);
    const isFresh = slice?.parts.every(({ pages, done }) => pages === 0 && !done) ?? true;
    const beginning = `${attempt} ${slice?.startedAt}`;
    const claimed = documented.has(attempt) ? undefined : claimedMs.get(`${attempt} ${run}`);
    documented.add(attempt);
    const beginMs = claimed ?? (isFresh ? time.nowMs : undefined);
    if (beginMs !== undefined && !begunMs.has(beginning)) begunMs.set(beginning, beginMs);
  }

  async function judge(
    report: ReportDefinition,
    day: string,
    before: Committed | undefined,
    now: Committed,
  ): Promise<void> {
    const name = `${report.name} ${day}`;
    const at = new Date(time.nowMs).toISOString();
    // Times in the future, recorded by a clock that was ahead, do not count.
    const counts = before !== undefined && Date.parse(before.readFrom) <= time.nowMs;
    if (counts && before.state !== 'open' && now.state === 'open')
      watch.report('other', `${at} ${name}: a closed day was committed as open`);
    // An open version may have the time of its commit: its clock was corrected while the day was read.
    if (now.state === 'open') return;
    const begun = begunMs.get(`${now.attempt} ${now.readFrom}`);
    if (begun === undefined) return watch.report('other', `${at} ${name}: committed without a beginning`);
    const endMs = endOfDay(day, world.brand.timeZone) + lateMinutes * MINUTE_MS;
    if (begun < endMs - CLOCK_TOLERANCE_MS)
      watch.report('other', `${at} ${name}: closed by a reading that began ${endMs - begun} ms too early`);
    const earlier = closedBeginMs.get(name);
    if (earlier !== undefined && begun < earlier)
      watch.report('other', `${at} ${name}: a later reading was replaced by an earlier one`);
    closedBeginMs.set(name, begun);
    if (report.day.by === 'upstream' || hasChangedSince(world, report, day, begun)) return;
    await compare({ lake, world, time, watch }, `${at} ${name}: committed as closed`, {
      report,
      day,
      snapshot: now.snapshot,
    });
  }

  const store: ObjectStore = {
    ...lake.store,
    async put(key, body, precondition) {
      const outcome = await lake.store.put(key, body, precondition);
      if (outcome !== 'conflict') await afterPut(key, body);
      return outcome;
    },
  };
  return { ...lake, store };
}

function jsonOf(body: Uint8Array): Json {
  return JSON.parse(Buffer.from(body).toString());
}

function readingOf({ snapshot, attempt, readFrom }: Committed): string {
  return [snapshot, attempt, readFrom].join();
}

/** Reports how rows differ from the expected records. */
export async function compare(
  { watch, lake, world, time }: Watched,
  where: string,
  version: { report: ReportDefinition; day: string; snapshot: string },
): Promise<void> {
  const { report, day } = version;
  const expected = recordsHeld(world, report, day, time.nowMs);
  const { schema, rows } = await readVersion(lake, version);
  const { missing, surplus } = unlike(schema, expected, rows);
  if (missing.length > 0) watch.report('lost', `${where}: lost ${missing.join('; ')}`);
  if (surplus.length > 0) watch.report('doubled', `${where}: too much: ${surplus.join('; ')}`);
}

async function readVersion(
  { store }: SimulatedLake,
  { report, day, snapshot }: { report: ReportDefinition; day: string; snapshot: string },
) {
  const schema = await readSchema(store, report);
  return { schema, rows: await rowsOf(store, report, day, snapshot, schema.columns) };
}

/** Queries at random moments: reads the current snapshot twice, hours apart, like a slow query. */
export async function readAtRandom({ lake, world, time, watch }: Watched, random: Random): Promise<void> {
  while (time.nowMs < world.stormEndMs) {
    await time.sleep(random.between(5, 90) * MINUTE_MS);
    const report = random.pick(world.reports);
    const partitions = await time.outside(() =>
      lake.catalog.snapshotsByPartition(report.table, [['brand', BRAND]]),
    );
    if (partitions.size === 0) continue;
    const [path, snapshots] = random.pick([...partitions]);
    const day = path.split('dt=')[1] ?? '';
    const at = new Date(time.nowMs).toISOString();
    const read = () =>
      time.outside(async () => {
        const versions = snapshots.map((snapshot) => readVersion(lake, { report, day, snapshot }));
        const rows = (await Promise.all(versions)).flatMap((version) =>
          version.rows.map((row) => textOfRow(version.schema, row)),
        );
        return rows.sort().join();
      });
    try {
      if (snapshots.length !== 1) throw new Error('the partition points at more than one snapshot');
      if (!snapshots.every((id) => watch.committedSnapshots.has(id)))
        throw new Error('it was never committed');
      const first = await read();
      await time.sleep(random.between(0, 6) * HOUR_MS);
      if ((await read()) !== first) throw new Error('the rows differ');
    } catch (thrown) {
      watch.report('torn', `${at} a reader of ${report.table} ${day} (${snapshots}): ${String(thrown)}`);
    }
  }
}
