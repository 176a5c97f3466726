import { consoleUrl, testPage } from '../shared/adapters/aws/console-url.ts';
import { html } from '../shared/status/html.ts';
import type { Controls } from '../shared/status/remedies.ts';

export function consoleControls(
  region: string,
  stack: string,
): {
  page: Controls;
  text: Controls<string>;
} {
  const name = `${stack}-sync`;
  const url = consoleUrl(region, 'lambda', testPage(name));
  const inPage = (event: object) =>
    html`test <a href="${url}" target="_blank" rel="noopener">${name}</a> with the event <b>${JSON.stringify(event)}</b>`;
  const inText = (event: object) => `test ${name} with the event ${JSON.stringify(event)}\n  ${url}`;
  return { page: controlsBy(inPage), text: controlsBy(inText) };
}

function controlsBy<Text>(start: (event: object) => Text): Controls<Text> {
  return {
    sync: (_reports, brand) => start({ brand }),
    check: (_reports, brand) => start({ brand, check: true }),
  };
}
