import { consoleUrl, testPage } from '../shared/adapters/aws/console-url.ts';
import type { Controls } from '../shared/watch/remedies.ts';

export function consoleControls(region: string, stack: string): Controls {
  const name = `${stack}-sync`;
  const url = consoleUrl(region, 'lambda', testPage(name));
  return (start, _reports, brand) => {
    const event = { brand, ...(start === 'check' && { check: true }) };
    return { text: `test ${name} with the event ${JSON.stringify(event)}`, url };
  };
}
