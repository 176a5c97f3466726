/** Writes docs/reference/log-events.md: names, fields and levels come from shared/log-events.ts, the meanings stand here. */
import { readFileSync } from 'node:fs';
import { EVENTS, type LogEvent } from '../../shared/log-events.ts';
import { block, code, entriesOf, pageOf, tableOf } from './markdown.ts';

type EventName = LogEvent['event'];

/** The compiler reports an event that is missing here or no longer exists. */
const MEANINGS: Record<EventName, string> = {
  report_planned: 'A run has planned a report: the number of due days.',
  report_failed: 'A report could not be read at all. `stack` is there for bugs only.',
  run_ended: 'A run of a report has ended. The counts are of this run.',
  meaning_changed:
    'The settings of the run give a role another field, or a word another state, than the settings in the lake, which they replace. The message names the role or word, before → after',
  last_run_not_recorded:
    'The outcome of the run could not be stored, so `status` and the watcher show the run before.',
  column_typed_beside:
    'The settings give a column another type than its files have. A further column gets the new type.',
  fields_without_column: 'A day has more fields than the table can have columns. The rest is in `_rescued`.',
  continuation_not_saved:
    'The list of days that later runs continue could not be stored. The next run reads some days again.',
  end_date_not_probed: 'The check of the setting `endDate` was not possible.',
  clocks_differ: 'The clocks of this machine and of the service differ by more than ten minutes.',
  service_time_unknown:
    'No response to the first request of the run had a `Date`, so the clock of this machine alone counts.',
  day_claimed: 'The run has claimed a day. `resumed`: it continues the pages of an earlier run.',
  day_restarted: 'The stored pages of the day are dropped, and the day is read from its first page.',
  attempt_dropped:
    'The progress document of a day is damaged. Another attempt reads the day from its first page.',
  page_fetched: 'A page was read.',
  lookups_refused:
    'The service refused lookups of the day. `message` has the first refusal. The rest of the day is published.',
  committed_details_unreadable: 'The version of a day that contains earlier lookups is missing or damaged.',
  day_ended: 'The run has finished with a day. `outcome`: [what happened](json-output.md#sync).',
  day_rebuilt: 'A rebuild has finished with a day.',
  day_failed: 'A day failed. `kind`, `code` and `message`: [errors](errors.md).',
  day_finding: 'A data check has found something in a day. `check`: [findings](findings.md).',
  check_not_made: 'A data check failed. The next run that plans the month of the day repeats it.',
  rows_kept: 'The service has no records of the day, or fewer than the version, and the version stays.',
  reading_dropped: 'A later reading of the day is committed already, so this reading is dropped.',
  day_changed: 'A closed day has other content than before. A count is missing if a version cannot be read.',
  history_anew:
    'What a closed day was before is no longer known: its changes are more than eight times as large as the day, or a version or the object of its changes is lost.',
  failure_not_recorded: 'The failure of a day could not be stored in the ledger.',
  other_dates_excluded: 'The response for a day contained records of other dates. They are excluded.',
  publication_failed:
    'A day is committed, but its partition could not be published. The next run publishes it.',
  events_not_sent:
    'Events could not be sent. `day` is the first day, `events` the number. The next run sends them again.',
  vacuum_failed: 'Old objects could not be deleted. A later run deletes them.',
  iceberg_table_restarted:
    'The Iceberg table pointed at metadata of another lake or program. It begins anew, without earlier snapshots.',
  month_skipped:
    'The ledger of a month is damaged or lost. No day of the month is read until `verify --restore` has restored it.',
  view_failed: 'A view could not be created.',
  request_sent: 'a request was sent, under the setting `requestsPerSecond`',
  request_retried:
    'A request is repeated. `failures`: failed attempts so far. `status`: the HTTP status, if a response came.',
  credentials_not_reread: 'The service refuses the credentials, and reading them again failed.',
  brand_awaited:
    'Another run of the brand, the `holder`, sends requests. This run waits up to two minutes for its end.',
  catalog_updated:
    'Tables, views and partitions were brought up to date. `brandsLeft`: brands that the next run continues with.',
  catalog_entry_skipped: 'A partition, table or view could not be published again.',
  watch_ended: 'A watcher run has ended. `message`: the subject of the message that it sent.',
};

/** The tables of shared/log-events.ts: what each event has in addition to its own fields. */
const OWNERS: Readonly<Record<string, { title: string; intro: string }>> = {
  REPORT_EVENTS: { title: 'Reports', intro: 'Each of these events also has `brand` and `report`.' },
  BRAND_EVENTS: { title: 'Brands', intro: 'Each of these events also has `brand`.' },
  PROCESS_EVENTS: { title: 'Processes', intro: 'These events have their own fields only.' },
};

/** Fields that several events take from a type. */
const SHARED_FIELDS: Readonly<Record<string, string[]>> = {
  ErrorSummary: ['kind', 'code', 'message'],
  Failed: ['kind', 'code', 'message', 'stack?'],
  Traffic: ['requests', 'retries', 'throttles'],
};

const source = readFileSync(new URL('../../shared/log-events.ts', import.meta.url), 'utf8');

/** The events of a table with their fields, as the source declares them. */
export function eventsOf(owner: string): [name: string, fields: string[]][] {
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

/** The page, as Markdown. */
export function logEventsPage(): string {
  return pageOf(
    '# Log events',
    'Runs, functions and commands log events. Names and fields may change with a minor version, and the CHANGELOG then lists them. `npm run reference` writes this page from `shared/log-events.ts` and `bench/reference/log-events.ts`.',
    '## Find log events',
    'Functions write each event as JSON to their log group in CloudWatch Logs. The field `message` contains the event, and `level` its level. The functions drop `debug` events. This query of Logs Insights shows warnings and errors of all functions:',
    block(
      'text',
      'fields @timestamp, message.event, message.brand, message.report, message.day, message.code, message.message\n| filter level in ["WARN", "ERROR"] and ispresent(message.event)\n| sort @timestamp desc\n| limit 100',
    ),
    'This query counts rows and failed days by report and day:',
    block(
      'text',
      'filter message.event = "run_ended"\n| stats sum(message.rows) as rows, sum(message.failedDays) as failed by message.brand, message.report, bin(1d)',
    ),
    'On a laptop, commands print the important events as text on standard error: `acme order_list 2026-03-09 published, 3 rows`.',
    'No alarm reads the log: [alarms](../how-to/react-to-a-message.md) use metrics of AWS.',
    ...entriesOf(OWNERS).flatMap(([owner, { title, intro }]) => [
      `## ${title}`,
      intro,
      tableOf(
        ['event', 'level', 'fields', 'meaning'],
        eventsOf(owner).map(([name, fields]) => [
          code(name),
          isEvent(name) ? EVENTS[name].level : '',
          fields.map(code).join(', '),
          isEvent(name) ? MEANINGS[name] : '',
        ]),
      ),
    ]),
    'A field with `?` may be missing.',
  );
}

function isEvent(name: string): name is EventName {
  return Object.hasOwn(EVENTS, name);
}
