/** Fills docs/reference/log-events.md: names, fields and levels come from shared/base/log-events.ts, the meanings stand on the page. */
import { readFileSync } from 'node:fs';
import { EVENTS, type LogEvent } from '../../shared/base/log-events.ts';
import { code, entriesOf, withRows } from './markdown.ts';

/** The tables of shared/base/log-events.ts, by their headings on the page. */
const OWNERS: Readonly<Record<string, string>> = {
  Reports: 'REPORT_EVENTS',
  Brands: 'BRAND_EVENTS',
  Processes: 'PROCESS_EVENTS',
};

/** Fields that several events take from a type. */
const SHARED_FIELDS: Readonly<Record<string, string[]>> = {
  ErrorSummary: ['kind', 'code', 'message'],
  Failed: ['kind', 'code', 'message', 'stack?'],
  Traffic: ['requests', 'retries', 'throttles'],
};

const source = readFileSync(new URL('../../shared/base/log-events.ts', import.meta.url), 'utf8');

/** The events of a table with their fields, as the source declares them. */
function eventsOf(owner: string): [name: string, fields: string[]][] {
  const [, rest = ''] = source.split(`const ${owner} = {\n`);
  const [body = ''] = rest.split('\n};\n');
  const members = [...body.replaceAll(/\/\*\*.*?\*\//gs, '').matchAll(/^ {2}(\w+): \w+<(.*?)>\(\),$/gms)];
  return members.map(([, name = '', type = '']) => {
    const own = [...type.matchAll(/(\w+\??): /g)].map(([, field = '']) => field);
    const taken = entriesOf(SHARED_FIELDS).flatMap(([each, fields]) =>
      new RegExp(`\\b${each}\\b`).test(type) ? fields : [],
    );
    return [name, [...own, ...taken]];
  });
}

export function logEventsPage(before: string): string {
  const head = ['event', 'level', 'fields', 'meaning'];
  return entriesOf(OWNERS).reduce(
    (page, [heading, owner]) =>
      withRows(page, heading, head, (present) =>
        eventsOf(owner).map(([name, fields]) => [
          code(name),
          isEvent(name) ? EVENTS[name].level : '',
          fields.map(code).join(', '),
          present.get(code(name))?.[3] ?? '',
        ]),
      ),
    before,
  );
}

function isEvent(name: string): name is LogEvent['event'] {
  return Object.hasOwn(EVENTS, name);
}
