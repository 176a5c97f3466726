/**
 * `rollback` publishes an older version of a day again, or lists the versions that are kept. A rollback is a commit like any
 * other: the old snapshot is read whole first, one compare-and-swap of the ledger decides, and the catalog follows (I3, I4).
 * The hint of the month is removed first, so that after a crash the next run reads it and finishes the publication.
 * A rollback holds until a reading finds other content. It does not change how and when the day is read: a settled day stays
 * settled. A closed day never goes back to a version that was read while it was open, which is a part of it (I2).
 */
import { claimForVersion } from '../day/claim.ts';
import { writeCoverage } from '../catalog/coverage.ts';
import { type BrandReport, createBrandReport, type LakeAccess } from '../context/context.ts';
import { type OpenDay, changeDay, openDayAnew } from '../context/open-day.ts';
import { monthOf } from '../base/days.ts';
import { configError } from '../base/errors.ts';
import { publishIceberg } from '../catalog/iceberg/index.ts';
import { rolesOf } from '../lake/brand-settings.ts';
import { createLakeDocuments } from '../lake/lake-documents.ts';
import {
  attemptOfRollback,
  type Committed,
  type DayEntry,
  isWhole,
  releaseDay,
  type Superseded,
} from '../lake/ledger.ts';
import { listLedgers } from '../lake/read.ts';
import { withoutHints } from '../lake/report-state.ts';
import { readContent, type SnapshotContent } from '../lake/read-content.ts';
import { damageOf, findFile } from '../table/readable-file.ts';
import { publishDay } from '../day/publish.ts';
import { replaceVersion } from '../day/commit.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { afterCommand } from '../planning/transitions.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { LakeSettings } from '../settings/settings.ts';

export interface RollbackOptions extends LakeAccess {
  reports: ReportRegistry;
  /** Without settings, the next run updates `coverage`. */
  settings: LakeSettings | undefined;
  report: ReportDefinition;
  /** Missing: the only brand that has the month. */
  brand?: string;
  day: string;
}

/** A version of the day that is kept. Times are ISO 8601. */
export interface KeptVersion {
  snapshot: string;
  /** When queries began to find it; `null` if that is not known. */
  from: string | null;
  to: string | null;
  /** `null`: not known, because the ledger was made from snapshots. */
  rows: number | null;
  /** Whether it was read while the day was open; `null`: not known, because the ledger was made from snapshots. */
  open: boolean | null;
}

export interface DayVersions {
  brand: string;
  report: string;
  day: string;
  versions: KeptVersion[];
}

export type RollbackOutcome =
  | {
      status: 'complete';
      brand: string;
      report: string;
      day: string;
      snapshot: string;
      rows: number;
      replaced: { snapshot: string; rows: number };
    }
  /** Another run reads the day, and would replace the version that is published now. */
  | { status: 'busy'; brand: string; report: string; day: string };

export async function listVersions(options: RollbackOptions): Promise<DayVersions> {
  const { day, report } = options;
  const { ctx, open } = await dayOfBrand(options);
  return { brand: ctx.brand, report: report.name, day, versions: keptVersions(open.entry) };
}

/** Each version was found from the end of the version before it until its own end. One that is not published yet is left out. */
export function keptVersions({ committed, superseded = [] }: DayEntry): KeptVersion[] {
  const current = committed && {
    ...{ snapshot: committed.snapshot, at: null, rows: committed.rows },
    whole: committed.timeZone === undefined ? undefined : isWhole(committed),
  };
  const all = [...superseded, ...(current ? [current] : [])];
  const found = all.slice(0, all.findIndex(({ at }) => at === null) + 1);
  return found.map(({ snapshot, at, whole, rows = null }, index) => {
    const from = superseded[index - 1]?.at ?? (index === superseded.length ? committed?.committedAt : null);
    return { snapshot, from: from ?? null, to: at, rows, open: whole === undefined ? null : !whole };
  });
}

/** @throws BrandReportsError `config` if the lake cannot go back to it, `conflict` if the day was changed in the meantime */
export async function rollBack(options: RollbackOptions, to: string): Promise<RollbackOutcome> {
  const { day, report, newId } = options;
  const found = await dayOfBrand(options);
  assertCanReturn(found, to, day);
  const { ctx, open, committed } = found;
  const outcome = { brand: ctx.brand, report: report.name, day };
  const runId = newId();
  const month = monthOf(day);
  await ctx.reportState.update((state) => withoutHints(state, [month]));
  const claimant = { ...ctx, runId };
  const claimed = await claimForVersion(claimant, open);
  if (!claimed) return { status: 'busy', ...outcome };
  let content: SnapshotContent;
  try {
    content = await wholeContent(ctx, open, to);
    await commitRollback(options, claimant, claimed, committed, { snapshot: to, ...content });
  } finally {
    await changeDay(ctx, claimed, (ledger) => releaseDay(ledger, day, runId));
  }
  await publishDay(ctx, day);
  await ctx.ledger(month).flush();
  if (ctx.policy) await writeCoverage(ctx, [month], (await ctx.reportState.cached()).hasReturnedRecords);
  await publishIceberg(ctx, [{ of: ctx, months: [month] }]);
  const { snapshot, rows } = committed;
  return { status: 'complete', ...outcome, snapshot: to, rows: content.rows, replaced: { snapshot, rows } };
}

/**
 * Keeps everything about how the day was read, except its attempt: the raw records of that attempt are not those of this
 * version. `unsettled` stays. The time of the next reading depends on the last response of the service.
 */
function commitRollback(
  { settings, newId }: Pick<RollbackOptions, 'settings' | 'newId'>,
  ctx: BrandReport & { runId: string },
  open: OpenDay,
  replaced: Committed,
  content: SnapshotContent & { snapshot: string },
): Promise<OpenDay> {
  const own = settings?.brands[ctx.brand]?.reports[ctx.report.name];
  const attempt = attemptOfRollback(newId());
  return replaceVersion({ ...ctx, ...(own && { settings: own }) }, open, {
    runId: ctx.runId,
    cause: 'rollback',
    next: (current = replaced) => {
      // A rollback to fewer rows is deliberate, so it does not count as a fall.
      const { contradictions: _contradictions, comparedWith: _comparedWith, ...reading } = current;
      const { keyIsNone } = current.values ?? {};
      const values = { ...content.values, ...(keyIsNone && { keyIsNone }) };
      const published = ctx.lake.catalog === undefined;
      return {
        ...{ ...reading, ...content, values },
        ...{ ...afterCommand(current, 'rolled_back')?.recorded, attempt, published },
      };
    },
  });
}

interface DayOfBrand {
  ctx: BrandReport;
  open: OpenDay;
  committed: Committed;
}

async function dayOfBrand(options: RollbackOptions): Promise<DayOfBrand> {
  const { lake, report, reports, settings, day } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const ofReport = (await listLedgers(lake.store, reports)).filter((one) => one.report === report);
  const withMonth = ofReport.filter(({ months }) => months.includes(monthOf(day)));
  // If the only ledger of the month was lost, opening the day names the loss.
  const [found, what] =
    withMonth.length > 0 ? [withMonth, `${report.name} ${monthOf(day)}`] : [ofReport, report.name];
  const brands = found.map(({ brand }) => brand);
  const { brand = brands[0] } = options;
  if (options.brand === undefined && brands.length > 1)
    throw configError(
      'several_brands',
      `${lake.store.url} has ${what} for several brands. Choose one with --brand: ${brands.join(', ')}.`,
    );
  if (brand !== undefined) {
    const policy = enabledPolicy(settings, brand, report);
    const ctx = createBrandReport(options, documents, { brand, report, policy });
    // A ledger that was lost is an error here (`documents/lost-documents.ts`).
    const open = await openDayAnew(ctx, day);
    if (open.committed) return { ctx, open, committed: open.committed };
  }
  const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
  throw configError(
    'day_not_committed',
    `${lake.store.url} has no version of ${report.name} ${day}${whose}. It has ${what} of: ${brands.join(', ') || 'no brand'}. Compare the day, --brand and --lake with the output of "brand-reports status".`,
  );
}

function assertCanReturn({ ctx, open, committed }: DayOfBrand, to: string, day: string): void {
  const { snapshot: current, state, timeZone } = committed;
  const isOpen = state === 'open';
  const isOfZone = (version: Superseded) => timeZone === undefined || version.timeZone === timeZone;
  const fitting = (open.entry.superseded ?? []).filter(
    (version) => version.snapshot !== current && (isOpen || (version.whole && isOfZone(version))),
  );
  const allowed = [...new Set(fitting.map(({ snapshot }) => snapshot))];
  if (allowed.includes(to)) return;
  const whole = isOpen ? '' : ', and was read whole after the end of the day in its time zone';
  throw configError(
    'version_not_kept',
    `${day} cannot go back to ${to}. Allowed: ${allowed.join(', ') || 'none'}; each is kept, is not the current version${whole}. All versions: "brand-reports rollback ${ctx.report.name} ${day} --brand ${ctx.brand}"`,
  );
}

async function wholeContent(ctx: BrandReport, { keys }: OpenDay, snapshot: string): Promise<SnapshotContent> {
  const unreadable = (why: string) =>
    configError(
      'version_unreadable',
      `${keys.version(snapshot)} cannot be read (${why}); nothing was changed. Choose another version.`,
    );
  const file = await findFile(ctx.lake.store, keys.version(snapshot));
  if (!file) throw unreadable('it is missing');
  const { fields } = rolesOf(await ctx.stored.of(ctx.brand), ctx.report);
  return readContent(file, fields).catch((thrown: unknown) => {
    throw unreadable(damageOf(thrown));
  });
}
