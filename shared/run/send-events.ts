/*
 * Sends the events of a report's days at the end of a run, when the catalog, Iceberg and `coverage` show the new
 * versions. An event stays in the ledger until it was received: if a run dies or the receiver fails, a later run sends
 * the same event again. So each event arrives at least once, and `sequence` orders the events of a day.
 */
import type { RunContext } from '../context/context.ts';
import { asBrandReportsError } from '../base/errors.ts';
import { findingFacts, findingsOf } from '../findings/index.ts';
import { changeEvent, pendingEvents } from '../lake/ledger.ts';
import { totalsOf } from '../lake/totals.ts';
import { errorSummary } from '../base/outcome.ts';
import { committedState } from '../planning/day-state.ts';
import { isEndOfRun } from '../service/retry.ts';

/** EventBridge accepts this many events in one request. */
const AT_ONCE = 10;

/**
 * Sends the waiting events of these months. A failure is logged and stops nothing: the next run sends the events again.
 * In a folder without a listener nobody will receive the events, so they are removed. In S3 they wait for the
 * functions.
 */
export async function sendEvents(
  ctx: RunContext,
  months: readonly string[],
  hasReturnedRecords: boolean,
): Promise<void> {
  const { events: sink, brand, report } = ctx;
  if (!sink && ctx.lake.store.localFolder === undefined) return;
  const failed = new Set<string>();
  for (const month of months.toSorted()) {
    const document = ctx.ledger(month);
    if (pendingEvents(await document.cached()).length === 0) continue;
    const facts = sink && (await findingFacts(ctx, month));
    const settings = sink && (await ctx.stored.usedBy(brand, ctx.brandSettings));
    // I4: the event is stored before it is sent, so that every repetition is equal.
    const complete = ({ day, committed, event }: Pending) => {
      if (!facts || event.findings) return facts && event;
      if (event.version !== committed?.snapshot) return { ...event, settings, findings: [] };
      const findings = findingsOf({ ...facts, day }).map(({ check }) => check);
      const state = committedState(committed, hasReturnedRecords);
      const totals = totalsOf(committed, facts.roles);
      const sums = totals === 'pending' ? {} : (totals ?? {});
      return { ...event, ...(state !== 'open' && { state }), sums, settings, findings };
    };
    const completed = await document.update((ledger) =>
      pendingEvents(ledger).reduce((now, each) => changeEvent(now, each, complete(each)), ledger),
    );
    const left = pendingEvents(completed).filter(({ committed }) => committed?.published);
    while (sink && left.length > 0) {
      // After a failure the later events of the day wait, so that the events arrive in order.
      const batch = left.splice(0, sink.atOnce ?? AT_ONCE).filter(({ day }) => !failed.has(day));
      const of = { brand, report: report.name, table: report.table };
      const toSend = batch.map(({ day, event: { type, findings = [], ...event } }) => {
        return { type, detail: { ...of, day, ...event, findings } };
      });
      try {
        if (toSend.length > 0) await sink.send(toSend);
      } catch (thrown) {
        const error = asBrandReportsError(thrown);
        const day = batch[0]?.day ?? month;
        ctx.log({ event: 'events_not_sent', day, events: batch.length, ...errorSummary(error) });
        if (isEndOfRun(error)) return;
        for (const each of batch.splice(0)) failed.add(each.day);
      }
      await document.update((ledger) => batch.reduce((now, each) => changeEvent(now, each), ledger));
      // A receiver that is slow or down would delay the end of the run once for each month. The first batch is sent in
      // any case.
      if (ctx.time.isUp()) return;
    }
  }
}

type Pending = ReturnType<typeof pendingEvents>[number];
