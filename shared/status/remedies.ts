import { consoleUrl, testPage } from '../adapters/aws/console-url.ts';
import { type Html, html } from './html.ts';
import type { Problem } from './problems.ts';

/** How a person starts something where the calendar is looked at. */
export interface Controls {
  /** Reads what is due. */
  sync(reports: readonly string[], brand: string): Html;
  check(reports: readonly string[], brand: string): Html;
}

/** In the AWS console: test events of the stack's functions. */
export function consoleControls(region: string, stack: string): Controls {
  const testEvent = (reports: readonly string[], event: string) => {
    const links = reports.map((report, index) => {
      const name = `${stack}-${report}`;
      const url = consoleUrl(region, 'lambda', testPage(name));
      return html`${index > 0 ? ', ' : ''}<a href="${url}" target="_blank" rel="noopener">${name}</a>`;
    });
    return html`test event <b>${event}</b> of ${links}`;
  };
  return {
    sync: (reports) => testEvent(reports, 'Sync-now'),
    check: (reports) => testEvent(reports, 'Check-the-connection'),
  };
}

/** On the command line, with the flags that the calendar itself was asked for with. */
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

/** As a shell takes it for one word. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What to do about troubles of one brand that are alike. */
export function remedy(alike: readonly Problem[], controls: Controls): Html {
  const [first] = alike;
  if (!first) return html``;
  const reports = alike.map(({ table }) => table.report);
  const { brand } = first.table;
  const sync = controls.sync(reports, brand);
  switch (first.status) {
    case 'failed':
      return needsOperator(first.days[0]?.failure?.kind)
        ? html`Mend what the message names, then: ${sync}`
        : html`Every run tries again. To do so now: ${sync}`;
    case 'missing':
      return html`The next runs read what is missing. To do so now: ${sync}`;
    case 'stale':
      return html`Runs should have read this again: is the schedule on? To do so now: ${sync}`;
    case 'unproven':
      return html`The service never returned a record, which may as well be a wrong setting: ${controls.check(reports, brand)}`;
    case 'in_progress':
      return html`A run is reading, or has left the rest to the next one.`;
  }
}

function needsOperator(kind: string | undefined): boolean {
  return kind === 'config' || kind === 'auth';
}
