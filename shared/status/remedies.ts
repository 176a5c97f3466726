import { consoleUrl, testPage } from '../console-url.ts';
import { type Html, html } from './html.ts';
import type { Trouble } from './troubles.ts';

/** How a person starts something where the calendar is looked at. */
export interface Controls {
  /** Reads what is due. */
  sync(report: string, brand: string): Html;
  check(report: string, brand: string): Html;
}

/** In the AWS console: test events of the stack's functions. */
export function consoleControls(region: string, stack: string): Controls {
  const testEvent = (name: string, event: string) => {
    const url = consoleUrl(region, 'lambda', testPage(name));
    return html`test event <b>${event}</b> of <a href="${url}" target="_blank" rel="noopener">${name}</a>`;
  };
  return {
    sync: (report) => testEvent(`${stack}-${report}`, 'Sync-now'),
    check: (report) => testEvent(`${stack}-${report}`, 'Check-the-connection'),
  };
}

/** On the command line, with the flags that the calendar itself was asked for with. */
export function commandControls({ lake, settings }: { lake: string; settings: string }): Controls {
  const flags = `--lake ${quoted(lake)} --settings ${quoted(settings)}`;
  const database = lake.startsWith('s3://') ? ' --database NAME' : '';
  return {
    sync: (report, brand) =>
      html`<code>npx brand-reports sync ${report} --brand ${brand} ${flags}${database}</code>`,
    check: (_report, brand) => html`<code>npx brand-reports check --brand ${brand} ${flags}</code>`,
  };
}

/** As a shell takes it for one word. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What to do about it. */
export function remedy({ status, table: { report, brand }, days }: Trouble, controls: Controls): Html {
  const sync = controls.sync(report, brand);
  switch (status) {
    case 'failed':
      return needsOperator(days[0]?.failure?.kind)
        ? html`Mend what the message names, then: ${sync}`
        : html`Every run tries again. To do so now: ${sync}`;
    case 'missing':
      return html`The next runs read what is missing. To do so now: ${sync}`;
    case 'stale':
      return html`Runs should have read this again: is the schedule on? To do so now: ${sync}`;
    case 'unproven':
      return html`The service never returned a record, which may as well be a wrong setting: ${controls.check(report, brand)}`;
    case 'in_progress':
      return html`A run is reading, or has left the rest to the next one.`;
  }
}

function needsOperator(kind: string | undefined): boolean {
  return kind === 'config' || kind === 'auth';
}
