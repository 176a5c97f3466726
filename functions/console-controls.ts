import { consoleUrl, testPage } from '../shared/adapters/aws/console-url.ts';
import type { TextControls } from '../shared/watcher/index.ts';
import { html } from '../shared/status/html.ts';
import type { Controls } from '../shared/status/remedies.ts';

/** Links of the status page: functions, and the event to paste there, to start something in the AWS console. */
export function consoleControls(region: string, stack: string): Controls {
  const start = (reports: readonly string[], event: object) => {
    const links = reports.map((report, index) => {
      const { name, url } = testOf(region, stack, report);
      return html`${index > 0 ? ', ' : ''}<a href="${url}" target="_blank" rel="noopener">${name}</a>`;
    });
    return html`test ${links} with the event <b>${JSON.stringify(event)}</b>`;
  };
  return {
    sync: (reports) => start(reports, {}),
    check: (reports) => start(reports, { check: true }),
  };
}

/** The same instructions as text, for a mail. */
export function consoleTextControls(region: string, stack: string): TextControls {
  const start = (report: string, event: object) => {
    const { name, url } = testOf(region, stack, report);
    return `test ${name} with the event ${JSON.stringify(event)}\n  ${url}`;
  };
  return {
    sync: (report, brand) => start(report, { brand }),
    check: (report, brand) => start(report, { brand, check: true }),
  };
}

function testOf(region: string, stack: string, report: string) {
  const name = `${stack}-${report}`;
  return { name, url: consoleUrl(region, 'lambda', testPage(name)) };
}
