import { consoleUrl, testPage } from '../shared/adapters/aws/console-url.ts';
import type { TextControls } from '../shared/watcher/index.ts';
import { html } from '../shared/status/html.ts';
import type { Controls } from '../shared/status/remedies.ts';

const SYNC = 'Sync-now';
const CHECK = 'Check-the-connection';

/** Links of the status page: test events of the stack's functions, to start something in the AWS console. */
export function consoleControls(region: string, stack: string): Controls {
  const testEvent = (reports: readonly string[], event: string) => {
    const links = reports.map((report, index) => {
      const { name, url } = testOf(region, stack, report);
      return html`${index > 0 ? ', ' : ''}<a href="${url}" target="_blank" rel="noopener">${name}</a>`;
    });
    return html`test event <b>${event}</b> of ${links}`;
  };
  return {
    sync: (reports) => testEvent(reports, SYNC),
    check: (reports) => testEvent(reports, CHECK),
  };
}

/** The same instructions as text, for a mail. */
export function consoleTextControls(region: string, stack: string): TextControls {
  const testEvent = (report: string, event: string, own: object) => {
    const { name, url } = testOf(region, stack, report);
    return `test event ${event} of ${name}, or the event ${JSON.stringify(own)}\n  ${url}`;
  };
  return {
    sync: (report, brand) => testEvent(report, SYNC, { brand }),
    check: (report, brand) => testEvent(report, CHECK, { brand, check: true }),
  };
}

function testOf(region: string, stack: string, report: string) {
  const name = `${stack}-${report}`;
  return { name, url: consoleUrl(region, 'lambda', testPage(name)) };
}
