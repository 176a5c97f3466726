import { consoleUrl, testPage } from '../shared/adapters/aws/console-url.ts';
import { html } from '../shared/status/html.ts';
import type { Controls } from '../shared/status/remedies.ts';

/** How to start something in the AWS console: test events of the stack's functions. */
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
