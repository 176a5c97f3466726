import { type Html, html } from './html.ts';
import type { Problem } from './problems.ts';

/** How a reader of the calendar starts an action: by a command, or in a console. */
export interface Controls {
  /** How to read what is due. */
  sync(reports: readonly string[], brand: string): Html;
  /** How to test the connection. */
  check(reports: readonly string[], brand: string): Html;
}

/** On the command line, with the same flags as the calendar itself. */
export function commandControls({
  lake,
  settings,
  environment,
}: {
  lake: string;
  settings: string;
  environment?: string;
}): Controls {
  const chosen = environment === undefined ? '' : ` --environment ${quoted(environment)}`;
  const flags = `--lake ${quoted(lake)} --settings ${quoted(settings)}${chosen}`;
  const database = lake.startsWith('s3://') ? ' --database NAME' : '';
  return {
    sync: (reports, brand) =>
      html`<code>npx brand-reports sync ${reports.join(' ')} --brand ${brand} ${flags}${database}</code>`,
    check: (_reports, brand) => html`<code>npx brand-reports check --brand ${brand} ${flags}</code>`,
  };
}

/** Quoted, so that a shell reads it as one word. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What to do about similar problems of one brand. */
export function remedy(alike: readonly Problem[], controls: Controls): Html {
  const [first] = alike;
  if (!first) return html``;
  const reports = alike.map(({ table }) => table.report);
  const { brand } = first.table;
  const sync = controls.sync(reports, brand);
  switch (first.state) {
    case 'failed':
      return needsOperator(first.days[0]?.failure?.kind)
        ? html`Fix what the message names, then: ${sync}`
        : html`Every run tries again. To try now: ${sync}`;
    case 'missing':
      return html`The next runs read the missing days. To read them now: ${sync}`;
    case 'overdue':
      return html`Runs should have read these days again. Check that the schedule is on. To read them now: ${sync}`;
    case 'unverified':
      return html`The report has never returned a record. Either there are none, or a setting is wrong. To find out: ${controls.check(reports, brand)}`;
    case 'in_progress':
      return html`A run is reading these days, or the next run will resume them.`;
  }
}

function needsOperator(kind: string | undefined): boolean {
  return kind === 'config' || kind === 'auth';
}
