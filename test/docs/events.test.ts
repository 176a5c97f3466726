import { describe, expect, it } from '@jest/globals';
import { EVENT_SOURCE } from '../../shared/adapters/aws/event-bridge.ts';
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../shared/json.ts';
import { parseWatchRecord } from '../../shared/lake/documents/watch-record.ts';
import { withEvents } from '../../shared/watcher/problem-events.ts';
import { textOf } from './pages.ts';

const page = textOf('docs/reference/events.md');
const guide = textOf('docs/how-to/receive-events.md');
const api = textOf('docs/how-to/events-to-api.yaml');
const [, json = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
const examples = json.split('\n\n').map(objectIn);
const [ofDay = {}, ofProblem = {}] = examples;

function objectIn(text: string): JsonObject {
  const parsed = parseJson(text);
  return isJsonObject(parsed) ? parsed : {};
}

const detailOf = (event: JsonObject): JsonObject => (isJsonObject(event.detail) ? event.detail : {});

/** The fields of an event in the table, of a day or a problem. */
function fieldsOf(kind: 'day' | 'problem'): string[] {
  const rows = [...page.matchAll(/^\| (`.*`) +\| (both|day|problem) +\|/gm)];
  const own = rows.filter(([, , of]) => of === 'both' || of === kind);
  return own.flatMap(([, names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')));
}

/** As EventBridge does for the two forms of conditions that the page has: a value, or a prefix. */
function matches(pattern: JsonObject, event: JsonObject): boolean {
  return Object.entries(pattern).every(([key, wanted]) => {
    const { [key]: found = null } = event;
    if (isJsonObject(wanted)) return isJsonObject(found) && matches(wanted, found);
    return Array.isArray(wanted) && wanted.some((one) => meets(one, found));
  });
}

function meets(wanted: Json, found: Json): boolean {
  return isJsonObject(wanted) ? String(found).startsWith(String(wanted.prefix)) : wanted === found;
}

describe('the pages on events', () => {
  it('has an example of both kinds of events with all the fields of its table', () => {
    expect(examples.map((event) => event.source)).toEqual([EVENT_SOURCE, EVENT_SOURCE]);
    expect(Object.keys(detailOf(ofDay)).sort()).toEqual(fieldsOf('day').sort());
    expect(Object.keys(detailOf(ofProblem)).sort()).toEqual(fieldsOf('problem').sort());
  });

  it('has the fields that the watcher sends', () => {
    const problem = {
      id: 'a',
      brand: 'acme',
      report: 'order_list',
      what: '',
      why: '',
      graceMs: 0,
      sinceMs: 0,
    };
    const open = [{ ...problem, remedy: { sentence: '' } }];
    const [sent] = withEvents(parseWatchRecord('')(undefined), open, () => '', 1).events?.pending ?? [];
    expect(Object.keys(sent?.detail ?? {}).sort()).toEqual(fieldsOf('problem').sort());
  });

  it('has event patterns that match an example, and that another source, report or brand does not match', () => {
    const patterns = [...guide.matchAll(/--event-pattern '(.*?)'/g)].map(([, text = '']) => objectIn(text));
    expect(patterns.length).toBeGreaterThan(0);
    for (const pattern of patterns) {
      expect(examples.filter((event) => matches(pattern, event))).toEqual([ofDay]);
      const others: JsonObject[] = [
        { source: 'x' },
        { 'detail-type': 'x' },
        { detail: { ...detailOf(ofDay), report: 'x' } },
      ];
      for (const other of others) expect(matches(pattern, { ...ofDay, ...other })).toBe(false);
    }
  });

  it('has requests of APIs with variables that events have', () => {
    const paths = new Map(
      [...api.matchAll(/^ {14}(\w+): \$\.(\S+)$/gm)].map(([, name = '', path = '']) => [name, path]),
    );
    const flat = {
      'detail-type': '',
      ...Object.fromEntries(Object.keys(detailOf(ofDay)).map((name) => [`detail.${name}`, ''])),
    };
    expect(Object.keys(flat)).toEqual(expect.arrayContaining([...paths.values()]));
    const bodies = [...guide.matchAll(/'Body=(.*)'/g)].map(([, body = '']) => body);
    expect(bodies).toHaveLength(2);
    for (const body of bodies) {
      const variables = [...body.matchAll(/<(\w+)>/g)].map(([, name]) => name);
      expect([...paths.keys()]).toEqual(expect.arrayContaining(variables));
      // A variable outside of a text stands for a value of JSON.
      expect(objectIn(body.replaceAll(/(?<=: )<\w+>/g, '1'))).not.toEqual({});
    }
  });
});
