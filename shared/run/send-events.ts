/*
 * Sends the events of a report's days at the end of a run, after the catalog, Iceberg and `coverage` show what the events
 * name: whoever queries at once finds it. An event stays in the ledger until it was received. If a run dies or nobody
 * receives, a later run sends the same event again, so that each arrives at least once and `sequence` orders a day's events.
 */
import type { RunContext } from '../context/context.ts';
import { DAY_MS } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import { findingFacts, findingsOf } from '../findings/index.ts';
import { type Ledger, changeEvents, pendingEvents } from '../lake/documents/ledger.ts';
import type { DayEvent } from '../lake/documents/outbox.ts';
import { errorSummary } from '../outcome.ts';
import { committedState } from '../planning/day-state.ts';
import type { LakeEvent } from '../ports.ts';

/** How many events are sent at once, and after how many failures in a row the others wait for the next run. */
const AT_ONCE = 10;
const MAX_FAILURES = 3;

/**
 * Adds to the pending events what a run knows only after its checks; the next write of each ledger brings it along, which
 * has to come before `sendEvents`. In a folder without a listener nobody will ever receive them: then they are removed.
 */
export async function prepareEvents(
  ctx: RunContext,
  months: readonly string[],
  hasReturnedRecords: boolean,
): Promise<void> {
  const isUnheard = !ctx.events && ctx.lake.store.localFolder !== undefined;
  if (!ctx.events && !isUnheard) return;
  for (const month of months) {
    const ledger = ctx.ledger(month);
    for (const { day, entry } of pendingEvents(await ledger.cached())) {
      const { committed } = entry;
      const state = committed && committedState(committed, hasReturnedRecords);
      const found = isUnheard ? [] : findingsOf({ ...(await findingFacts(ctx, month)), day });
      const current = { ...(state && { state }), findings: found.map(({ check }) => check) };
      const prepared = (event: DayEvent): DayEvent => ({
        ...{ ...event, findings: event.findings ?? [] },
        ...(!event.findings && event.version === committed?.snapshot && current),
      });
      ledger.updateLater((now) => changeEvents(now, day, isUnheard ? () => undefined : prepared));
    }
  }
}

/** An event as it waits, and as it is sent. */
interface Waiting {
  day: string;
  sequence: number;
  event: LakeEvent;
}

/** Sends what waits in these months. A failure is logged and fails nothing: the next run sends the events again. */
export async function sendEvents(ctx: RunContext, months: readonly string[]): Promise<void> {
  const { events: sink } = ctx;
  if (!sink) return;
  const failedDays = new Set<string>();
  let failures = 0;
  for (const month of months.toSorted()) {
    const document = ctx.ledger(month);
    const left = waitingIn(ctx, await document.cached());
    while (left.length > 0 && failures < MAX_FAILURES) {
      // After a failure the later events of the day wait, so that they come in order.
      const batch = left.splice(0, sink.atOnce ?? AT_ONCE).filter(({ day }) => !failedDays.has(day));
      const [first] = batch;
      if (!first) continue;
      try {
        await sink.send(batch.map(({ event }) => event));
      } catch (thrown) {
        failures += 1;
        for (const { day } of batch) failedDays.add(day);
        const error = errorSummary(asBrandReportsError(thrown));
        ctx.log({ event: 'events_not_sent', day: first.day, events: batch.length, ...error });
        continue;
      }
      failures = 0;
      await document.update((ledger) => batch.reduce(withoutReceived, ledger));
    }
  }
}

function withoutReceived(ledger: Ledger, { day, sequence }: Waiting): Ledger {
  return changeEvents(ledger, day, (event) => (event.sequence === sequence ? undefined : event));
}

/** What readers find already, and a write of the ledger has completed. */
function waitingIn({ brand, report }: RunContext, ledger: Ledger): Waiting[] {
  const of = { brand, report: report.name, table: report.table };
  return pendingEvents(ledger).flatMap(({ day, entry, pending }) =>
    pending
      .filter(({ findings }) => findings && entry.committed?.published)
      .map(({ type, ...event }) => {
        const { sequence } = event;
        return { day, sequence, event: { type, detail: { ...of, day, ...event } } };
      }),
  );
}

/** Whether a run has to send events of the month. What nobody received for a day is tried once a day, with all months. */
export function hasNewEvents(ledger: Ledger, nowMs: number): boolean {
  const isNew = ({ at }: DayEvent) => Math.abs(nowMs - Date.parse(at)) < DAY_MS;
  return pendingEvents(ledger).some(({ pending }) => pending.some(isNew));
}
