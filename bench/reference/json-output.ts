/** Writes docs/reference/json-output.md and the schemas beside it. */
import { CONTRACTS, jsonSchemaOf } from './json-schemas.ts';
import { block, code, entriesOf, pageOf, tableOf } from './markdown.ts';

/** The schemas, by their path from the root of the repository. */
export function schemaFiles(): Record<string, string> {
  const files = Object.keys(CONTRACTS).map((name) => [
    `docs/reference/schemas/${name}.json`,
    `${JSON.stringify(jsonSchemaOf(name), undefined, 2)}\n`,
  ]);
  return Object.fromEntries(files);
}

/** The page, as Markdown. */
export function jsonOutputPage(): string {
  return pageOf(
    '# JSON output',
    'Most commands print a JSON document on standard output with `--json`. Its schema is the contract for programs that read it. `npm run reference` writes this page and the schemas.',
    '## The promise',
    'Within a major version, a field of a schema is never removed or renamed, and its type and meaning stay. New fields and new documents may be added, so ignore fields that you do not know. Texts for people (`message`, `what`, `why`, `detail`, `advice`, `notes`) may change at any time.',
    'Days are `YYYY-MM-DD`. Instants are ISO 8601 in UTC. A field that is not required is missing if it has no value.',
    '## Documents',
    tableOf(
      ['document', 'schema', 'required fields'],
      entriesOf(CONTRACTS).map(([name, { title }]) => [
        title,
        `[${name}.json](schemas/${name}.json)`,
        requiredOf(jsonSchemaOf(name)),
      ]),
    ),
    '`query --json` prints an array with one object a row. The fields are the columns of the query, and numbers keep all their digits. [Statements](../how-to/statements.md) describes the JSON of `statement`. [Events](events.md) explains the fields of events.',
    '## sync',
    'Each line of `sync --json` is a document: first the events, and last the outcome. `tail -n 1` takes the outcome.',
    block(
      'json',
      '{"status":"complete","reports":[{"brand":"acme","report":"order_list","requests":2,"retries":0,"throttles":0,"status":"complete","days":[{"dt":"2026-11-25","outcome":"published","rows":34,"pages":2}]}]}',
    ),
    tableOf(
      ['`outcome` of a day', 'meaning'],
      [
        ['`published`', 'The run has published a version.'],
        ['`unchanged`', 'The run has read the day, and its content is the same as before.'],
        [
          '`kept`',
          'The version stays: the service has fewer records although they are final, or its readings differ.',
        ],
        ['`pending`', 'The day is left to the next run.'],
        ['`busy`', 'Another run is reading the day.'],
        ['`waiting`', 'The run has not tried the day: it failed before, and its backoff has not ended.'],
        ['`failed`', 'The day failed. `error` of the report has the first error.'],
      ].map(([outcome = '', meaning = '']) => [outcome, meaning]),
    ),
    '## check',
    'A finding has the level `ok`, `warning`, `undecided` or `error`. With `undecided`, numbers would be wrong or missing until a setting decides, so `status` is `failed`, as with `error`. `setting` is what [`init`](../how-to/check-a-brand.md) writes:',
    block(
      'json',
      '{"level":"undecided","code":"roles","message":"commission: `comm`: …","setting":{"path":["reports","order_list","fields","commission"],"value":"comm","why":"commission: `comm`: …","isCertain":true}}',
    ),
    '## Errors',
    'A command that fails prints a message on standard error and, with `--json`, this document on standard output. [Errors](errors.md) lists the codes.',
    block(
      'json',
      '{"status":"failed","reports":[],"error":{"kind":"config","code":"several_brands","message":"order_list 2026-11-20 is there of several brands. Name one with --brand: acme, globex."}}',
    ),
    'If `query --json` fails after its first rows, the array is not closed, the error follows it, and the exit code is 1.',
  );
}

function requiredOf({ required, anyOf }: ReturnType<typeof jsonSchemaOf>): string {
  if (required) return required.map(code).join(', ');
  const either = (anyOf ?? []).map((each) => each.required?.map(code).join(', ') ?? '');
  return either.join('; or ');
}
