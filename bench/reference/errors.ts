/** Writes docs/reference/errors.md from the explanations of error-codes.ts. */
import { ERROR_KINDS, type ErrorKind } from '../../shared/errors.ts';
import { block, code, entriesOf, pageOf, tableOf } from './markdown.ts';
import { bugs, commandErrors, deploymentErrors, lakeErrors, readingErrors } from './error-codes.ts';

const KINDS: Record<ErrorKind, string> = {
  config:
    'You: correct the command line, the settings, the lake or AWS. Exit code 2 if the command cannot start.',
  auth: 'You: the service refuses the credentials.',
  transient: 'Nobody, unless it lasts: the next run tries again.',
  contract:
    'The operator of the service: a response violates the interface, or the settings do not fit the service.',
  conflict: 'Nobody: another run does the work.',
  bug: 'Us: report it.',
};

const SECTIONS = [
  [
    'Command line, settings and credentials',
    'A command prints these on standard error, before it starts or instead of its result. Exit code 2; 1 for SQL.',
    commandErrors,
  ],
  [
    'The lake',
    'Commands, runs and functions report these. They show on standard error, in the log of a function, and, if a day failed, in `status`, in the view `freshness` and in the message of the watcher.',
    lakeErrors,
  ],
  [
    'Reading days from the service',
    'Runs report these. They show in the outcome of `sync`, in the log (`day_failed`, `report_failed`), in `status`, and in the message of the watcher.',
    readingErrors,
  ],
  [
    'AWS and deployments',
    'Functions, `cdk synth` and `cdk deploy`, and commands on a lake in S3 report these. They show in the log of a function, in the output of the command, and in CloudFormation.',
    deploymentErrors,
  ],
  ['Bugs', 'These faults of the program itself can show anywhere.', bugs],
] as const;

/** The page, as Markdown. */
export function errorsPage(): string {
  return pageOf(
    '# Errors',
    'An error has a kind, a code and a message. The message contains the value that was found, the values that are allowed, and the next step. Codes are stable within a major version; the words of messages are not. `npm run reference` writes this page; the compiler ensures that every code of the program is on it.',
    'A failed day in the outcome of `sync`:',
    block(
      'text',
      'acme order_list 2026-11-19\ncontract (missing_list): order_list: no list of records in the response: …',
    ),
    'Here `contract` is the kind and `missing_list` the code. With `--json`, the same error is `{"kind": "contract", "code": "missing_list", "message": "…"}` ([JSON output](json-output.md)).',
    '## Kinds',
    tableOf(
      ['kind', 'who acts'],
      ERROR_KINDS.map((kind) => [code(kind), KINDS[kind]]),
    ),
    ...SECTIONS.flatMap(([title, where, errors]) => [
      `## ${title}`,
      where,
      tableOf(
        ['code', 'cause', 'remedy'],
        entriesOf<string, readonly [string, string]>(errors).map(([name, [cause, remedy]]) => [
          code(name),
          cause,
          remedy,
        ]),
      ),
    ]),
  );
}
