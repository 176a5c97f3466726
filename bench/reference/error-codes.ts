/** Explains every error code of shared/error-codes.ts: the compiler names a code that is missing here, or is no longer used. */
import type { Bugs, OfCommands, OfDeployments, OfLakes, OfReadings } from '../../shared/error-codes.ts';

type Explanation = readonly [cause: string, remedy: string];
/** A code that contains a number, as a row of the page has it. */
type Row<Code extends string> = Code extends `http_${number}` ? 'http_<status>' : Code;

export const commandErrors: Record<OfCommands, Explanation> = {
  address_space: [
    'The process may not reserve the address space that WebAssembly needs (about 10 GB for each page or day in memory; addresses, not memory).',
    'Raise the limit, on Linux with `ulimit -v unlimited`.',
  ],
  bad_credentials: [
    'The credentials of a brand are missing or have a wrong form, or other users may change their file.',
    'Correct the field that the message names, or run the `chmod` that it prints.',
  ],
  bad_csv: [
    'A file of `--csv` is not CSV in UTF-8, or one of its lines has another number of cells.',
    'Correct the line, or run the command that the message prints.',
  ],
  bad_output: [
    'The file of `--output` cannot be written: its ending is not a format, it is inside the lake, or its folder does not exist.',
    'Name another file. The message lists the allowed endings.',
  ],
  bad_source: [
    '`query` received no SQL, or `diff` neither a day nor settings.',
    'Give the SQL as an argument or on standard input; give `diff` what the message names.',
  ],
  database_unwritable: [
    '`open` cannot write `brand_reports.duckdb` into the folder of the lake.',
    'Make the folder writable, remove what blocks the name, and run `open` again.',
  ],
  day_to_come: [
    '`--from` or `--to` is in the future.',
    'Use a day up to today in the time zone of the brand.',
  ],
  days_reversed: ['`--from` is after `--to`.', 'Swap them.'],
  end_date: [
    'The setting `endDate` is `whole_day`, but the service takes `end_date` as midnight. Every day would be read empty or cut.',
    'Set `"endDate": "midnight"` for the brand.',
  ],
  event_not_received: [
    'The command of `--on-published` could not start or ended with an exit code other than 0.',
    'Correct the command. The next `sync` with `--on-published` sends the event again.',
  ],
  no_answer: [
    'Standard input ended before `init` or `erase` had all answers.',
    'Run the command again on a terminal, or give the answers as flags.',
  ],
  no_cache: [
    '`query` has no folder for copies of the files of an S3 lake.',
    'Set `XDG_CACHE_HOME` to the absolute path of a folder that you may write.',
  ],
  no_credentials: [
    '`sync` or `check` found no credentials.',
    'Give them in one of the ways that the message lists.',
  ],
  no_days_named: ['A flag that needs days or a month was given without them.', 'Add what the message names.'],
  no_dbt_project: [
    '`dbt init` cannot write the project: the folder is not empty, or the lake has no table yet.',
    'Follow the message: name a new folder, or run `sync` first.',
  ],
  no_terminal: ['`init` needs an answer, and there is no terminal.', 'Add the flags that the message names.'],
  not_known_then: [
    '`--as-of` names a time at which days that the SQL reads were open, or whose history began anew later.',
    'Leave these days out by a condition on `dt`, or use a later time.',
  ],
  not_as_of: [
    '`--as-of` was used with a table that has no past, such as `coverage` or `freshness`.',
    'Query that table without the flag.',
  ],
  not_confirmed: [
    '`erase` was not confirmed, or has no terminal to ask on. Nothing was erased.',
    'Type the name of the brand, or add `--yes`. `--plan` shows what would be removed.',
  ],
  now_ahead: ['`--now` is in the future.', 'Use an instant in the past.'],
  other_base_url: [
    'The credentials contain a `baseUrl` that differs from the settings. No request was sent.',
    'Find out who changed `baseUrl`. Correct the settings, or, if the service has moved, the `baseUrl` beside the credentials.',
  ],
  page_unwritable: ['The file of `status --html` cannot be written.', 'Name another file.'],
  place_taken: [
    'A file that a command would create exists already or cannot be written. Nothing is overwritten.',
    'Move the file away, or choose another place.',
  ],
  port_unavailable: [
    'The port of `serve-sample` is in use, or this user may not open it.',
    'Use another port, or 0 for any free port.',
  ],
  report_off: [
    'Every brand has the named report switched off in the settings.',
    'Set its `enabled` to true, or leave the report out.',
  ],
  settings: [
    'A setting is missing, unknown or has a value that is not allowed.',
    'Correct each line of the message: it names the path, the value and what is allowed. See [Settings](settings.md).',
  ],
  settings_json: [
    'The settings file is not JSON in UTF-8, or an object has the same key twice.',
    'Correct the place that the message names.',
  ],
  settings_maintained: [
    'Deployed functions maintain the settings of the lake, and the settings of the command give its records another meaning',
    'Use the deployed settings, or deploy yours. `--adopt-settings` replaces them until a function runs',
  ],
  settings_missing: [
    'The file is a `cdk.json` without settings.',
    'Add them under `"context": { "brandReports": … }`, or name another file with `--settings`.',
  ],
  settings_unreadable: [
    'The settings file does not exist or cannot be read.',
    'Name a file with `--settings`, or write one with `init`.',
  ],
  several_brands: [
    'The lake has several brands, and the command works on one.',
    'Name the brand with `--brand`.',
  ],
  sql: [
    'DuckDB rejects the SQL or fails to run it.',
    'Correct the SQL. For a condition on dates the message prints a statement that works.',
  ],
  sql_refused: [
    'The SQL is not a statement that reads, or it contains several statements.',
    'Use one `SELECT`, `DESCRIBE`, `SHOW`, `SUMMARIZE` or `VALUES`. Save rows with `--output`.',
  ],
  start_date: [
    'The start date for `init` is not a day, or is in the future.',
    'Use a day such as `2026-01-31`.',
  ],
  start_to_come: [
    '`startDate` of a brand or of a report is in the future, so there is no day to read.',
    'Correct `startDate`, or read another brand with `--brand`.',
  ],
  time_zone: [
    '`init` cannot determine the time zone, or `--time-zone` contradicts the records. No settings were written.',
    'Add `--time-zone` with the zone of the dashboard.',
  ],
  unknown_brand: ['The settings or the lake do not have this brand.', 'Use a name that the message lists.'],
  unknown_report: [
    'There is no report and no table of this name, or the brand has no settings for it.',
    'Use a name that the message lists.',
  ],
  unknown_table: ['The SQL names a table that does not exist.', 'Use a name that the message lists.'],
  unsafe_cache: [
    'Other users may change the copies of the lake in the cache folder.',
    'Change the mode of the folder that the message names, or set `XDG_CACHE_HOME`.',
  ],
};

export const lakeErrors: Record<OfLakes, Explanation> = {
  already_closed: [
    '`close` names a month that is closed.',
    'Nothing is needed. To close it again, remove the close first: `close MONTH --remove`.',
  ],
  already_current: [
    '`rollback --to` names the current version.',
    'Choose another version from the list of `rollback REPORT DAY`.',
  ],
  bad_lake: [
    '`--lake` is neither a folder nor `s3://bucket/prefix`, or `--database` was given for a folder.',
    'Correct `--lake`, or leave out `--database`.',
  ],
  bad_lake_owner: [
    '`BRAND_REPORTS_LAKE_OWNER` is not the number of an AWS account.',
    'Set it to the 12 digits of the account that owns the bucket, or unset it.',
  ],
  file_unreadable: [
    'A file that the ledgers name is missing or damaged, so an answer would lack its rows.',
    'Run `verify`: it prints the command that heals the file.',
  ],
  contended: ['Other runs changed the same document many times in a row.', 'Run again.'],
  damaged_chunk: [
    'A stored page of a day that is being read is missing or damaged.',
    'Nothing is needed: the next run reads the day from its first page.',
  ],
  damaged_document: [
    'A document of the lake, such as a ledger, cannot be parsed or was lost. Nothing was changed.',
    'Run `verify`, which shows what can be put back, and then `verify --restore`.',
  ],
  damaged_snapshot: [
    'The version of clicks whose details are due cannot be read.',
    'Run the `sync` that the message prints.',
  ],
  day_not_committed: [
    '`diff` or `rollback` names a day that the lake does not have.',
    'Compare report, day, `--brand` and `--lake` with the output of `status`.',
  ],
  demo_lake: [
    '`demo` was given an S3 lake, or a folder with data of another service.',
    'Use an empty folder: `--lake FOLDER`.',
  ],
  disk_failed: [
    'The disk of the lake failed in an unusual way.',
    'Run again. If it fails again, check the disk; the message has the error of the system.',
  ],
  disk_full: [
    'The disk of the lake is full, or its quota is used up. What is committed is safe.',
    'Free space, and run again.',
  ],
  file_too_large: [
    'A limit on the size of files stopped a write.',
    'Raise the limit (`ulimit -f`), and run again.',
  ],
  iceberg_contended: [
    'Other runs committed to the same Iceberg table many times in a row. What was read is safe.',
    'Run again.',
  ],
  lake_folder: [
    'The path of the lake contains `=`, `*`, `?` or `[`, which DuckDB would take for a partition or a pattern.',
    'Use another path, such as a symbolic link.',
  ],
  lake_locked: [
    'Another process keeps the lake locked, although a run holds the lock only for an instant.',
    'Find the process that is stopped or hangs, end it, and run again.',
  ],
  lake_not_writable: [
    'This user may not read or write the folder of the lake.',
    'Give the user the right, or choose another folder.',
  ],
  lake_open_to_all: [
    'Every user of the machine may write into the folder of the lake, or replace it.',
    'Run the `chmod` of the message, or use a folder that belongs to you.',
  ],
  lake_unlockable: [
    'A file of the lake cannot be locked: the folder is not writable or not on a local disk.',
    'Use a writable folder on a local disk.',
  ],
  lake_unusable: [
    'The folder of the lake lacks what a lake needs (hard links, one disk, short paths), or a file is in the way.',
    'Choose a folder on a local disk, or move the file away.',
  ],
  link_in_lake: [
    'A folder of the lake contains a symbolic link. Through it a run would read, replace or delete other files.',
    'Remove the link. To keep a lake on another disk, move the whole lake there or mount the disk.',
  ],
  before_latest_close: [
    '`close` names a month before the latest closed one, whose statement has its days.',
    'Close a later month, or remove the later closes first.',
  ],
  close_follows: [
    '`close --remove` names a close that another close follows.',
    'Remove the later close first, as the message shows.',
  ],
  role_without_field: [
    'A sum of the month needs a role that has no field, such as `commission`.',
    'Name the field in `fields`, or close the month with `--anyway`, which records the roles.',
  ],
  month_not_over: ['`close` names a month that is not over.', 'Close it after its last day has ended.'],
  no_lake: [
    'The folder of `--lake` does not exist.',
    'Name the folder of a lake, or fill a new lake with `sync`.',
  ],
  not_closed: ['The month is not closed.', 'Use a month that the message lists, or close the month.'],
  not_whole: [
    '`close` found days that are missing, failed, open, unconfirmed or erased.',
    'Wait until the days are complete, or add `--anyway`: the close records these days.',
  ],
  nothing_to_close: [
    'The lake has no day of the month that `close` names.',
    'Check the month, `--brand` and `--lake`.',
  ],
  nothing_to_state: [
    'The month has no order and no transaction, or none of the publisher.',
    'Query the view `commission_due` to see what exists.',
  ],
  nothing_to_verify: [
    '`verify` found no committed day that fits its flags.',
    'Check `--lake` and the other flags.',
  ],
  object_missing: [
    'An object disappeared while it was being read, for example because its retention ended.',
    'Run again. If the error returns, run `verify`.',
  ],
  other_format: [
    'A program with another format of lakes wrote this lake. Nothing was changed.',
    'Use that version of brand-reports, or [read the days again](../how-to/upgrade.md) into an empty lake.',
  ],
  statement_unreadable: [
    'A file that `statement` needs is missing or damaged.',
    'Run `verify`: it prints the command that heals the file.',
  ],
  too_many_open_files: [
    'The process or the system has reached its limit of open files.',
    'Raise the limit (`ulimit -n`), or end other programs, and run again.',
  ],
  unreadable_amounts: [
    '`close` found values that cannot be read as amounts.',
    'Correct the setting `fields`, or get plain numbers from the service and read the days again. `--anyway` closes the month without these amounts.',
  ],
  unreadable_snapshot: [
    'The second Parquet reader of `verify` cannot read a version.',
    'Read the day again with `sync --from DAY --to DAY`, and report the file.',
  ],
  version_is_part: [
    '`rollback --to` names a version that was read before the day was over.',
    'Choose a version that contains the whole day.',
  ],
  version_not_kept: [
    'The version is no longer kept: `snapshotRetentionDays` has passed since it was replaced.',
    'Choose a version from the list.',
  ],
  version_of_other_zone: [
    '`rollback --to` names a version that was read with another time zone.',
    'Choose a version of the current time zone.',
  ],
  version_unreadable: [
    'The file of a version is missing or damaged. Nothing was changed.',
    'Choose another version.',
  ],
};

export const readingErrors: Record<Row<OfReadings>, Explanation> = {
  bad_cursor: [
    'The cursor in a response is neither text, a number nor null.',
    'Report it to the operator of the service.',
  ],
  bad_record: [
    'An element of the list in a response is not an object.',
    'Report it to the operator of the service.',
  ],
  claim_lost: ['Another run has taken over the day.', 'Nothing is needed: the other run finishes the day.'],
  clocks_differ: [
    'The clocks of this machine and of the service differ by more than a day, as two responses have shown. Nothing is read or written.',
    'Correct the clock that is wrong. The message contains both times.',
  ],
  count_mismatch: [
    'The response states another number of records than its list has.',
    'Report it to the operator of the service.',
  ],
  cursor_died: [
    'The service no longer accepts the cursor of a page. The pages are read again from the first.',
    'Nothing is needed, unless it repeats: then see `cursor_dies`.',
  ],
  cursor_dies: [
    'A day had to start again from its first page three times, because the service no longer knew a cursor or the last stored page had changed.',
    'Give a run more time (`--max-seconds`, the timeout of the function), so that one run reads the whole day.',
  ],
  empty_pages: [
    'Several empty pages in a row named a next page.',
    'Report it to the operator of the service.',
  ],
  endless: [
    'The pages of a day do not end.',
    'Raise `pageSize` if the day has so many records. Otherwise report it to the operator of the service.',
  ],
  envelope: [
    'The response is not the JSON object that the interface describes: its `code` or `data` is missing or wrong, or a key is repeated.',
    'Check `baseUrl`. Report it to the operator of the service.',
  ],
  'http_<status>': [
    'The service responded with this HTTP status, for example `http_503` or `http_401`. 408, 425, 429 and 5xx are retried.',
    '401 and 403: check the credentials with `check`. 404: check `baseUrl` and proxies. Others: wait, or report it to the operator of the service.',
  ],
  instant_refused: [
    'The service refused a request for the one instant that ends the day.',
    'Set `endDate` as the message shows.',
  ],
  instant_unclear: [
    'For the last instant of a day the service returned the records of the whole day, so the end of the day is unknown.',
    'Set `endDate` to what the service means.',
  ],
  later_reading: [
    'A later reading of the day is committed already. This reading is dropped.',
    'Nothing is needed. If no other run is working, compare the clocks.',
  ],
  missing_list: ['The response has no list of records.', 'Report it to the operator of the service.'],
  network: [
    'No whole response came: the connection failed or was closed.',
    'Check the network and `baseUrl` if it persists.',
  ],
  no_progress: [
    'Pages repeat records and still name a next page.',
    'Report it to the operator of the service.',
  ],
  not_json: [
    'The response is not JSON. The message shows where it stops being JSON.',
    'Check `baseUrl`, because a proxy or a login page may respond. If records are wrong, report it to the operator of the service.',
  ],
  not_utf8: [
    'The response is not UTF-8: it has another encoding, or is compressed without a `Content-Encoding`.',
    'Report it to the operator of the service.',
  ],
  other_dates: [
    'No record of the response has the requested date.',
    'Compare `timeZone` and `endDate` with the dashboard of the brand.',
  ],
  other_id: [
    'The response to a lookup is about another record.',
    'Report it to the operator of the service.',
  ],
  out_of_time: [
    'The run has too little time left to send another request.',
    'Nothing is needed: a later run continues. Raise `requestsPerSecond` or the time of a run if it repeats.',
  ],
  page_info: [
    '`pageInfo` is missing or incomplete, so the last page cannot be recognised.',
    'Report it to the operator of the service.',
  ],
  range_ahead: [
    'The first day of a range has not begun in the time zone of the brand.',
    'Correct the range.',
  ],
  brand_busy: [
    'Another run of the brand sends requests. This run waited two minutes at most, and sent no request. The status is `busy`.',
    'Nothing is needed for a scheduled run. Otherwise run again after the run in the message has ended.',
  ],
  lease_unavailable: [
    'The lease of the brand cannot be read or written. No request was sent.',
    'Follow the cause in the message, for example a missing permission.',
  ],
  redirect: [
    'The service redirects. Redirects are not followed, because they would carry the credentials elsewhere.',
    'Set `baseUrl` to the address of the service itself.',
  ],
  refused: [
    'The service refused the first requests of a run. The run sends no more, because refusals could lock the account.',
    'Check bid, token and secret with `check`.',
  ],
  repeated_cursor: [
    'A page names a cursor that was used before.',
    'Report it to the operator of the service.',
  ],
  repeated_page: [
    'A page has exactly the records of an earlier page.',
    'Report it to the operator of the service.',
  ],
  restarted_too_often: [
    'A day had to start again from its first page three times, for the reason in the message.',
    'Follow the message: compare clocks, leave the settings as they are until the day is complete, or set `key`.',
  ],
  retry_after: [
    'The service demands a longer pause than a run waits.',
    'Nothing is needed: a later run continues.',
  ],
  service_code: [
    'The service refused a request: `code` in the response is not 0. The kind is `auth` until the service has accepted a request of the run with these credentials. After that, refusals are retried, because they may be a limit of requests.',
    'Read the `msg` of the service, which the message begins with. Check what the message names.',
  ],
  stopped: ['The run was stopped before the service responded.', 'Run again to continue.'],
  timeout: [
    'No response came within `timeoutSeconds`.',
    'Raise `timeoutSeconds`, or check the network, if it persists.',
  ],
  tls: [
    'No TLS connection: the certificate is not trusted, not valid, or of another host, or there is no common version of TLS. It is not retried.',
    'Follow the message, for example with [`NODE_EXTRA_CA_CERTS`](../how-to/proxies-and-certificates.md).',
  ],
  too_large: [
    'The response is larger than a page can be.',
    'Check `baseUrl`. If the records are right, lower `pageSize`.',
  ],
  too_many_fields: [
    'The records of one page have more different fields than a table can have columns.',
    'If the records are right, lower `pageSize`. Otherwise report it to the operator of the service.',
  ],
  too_slow: [
    'A day had to start again from its first page three times, because its stored pages became too old, its clicks were read again, or the day ended during the reading.',
    'Raise `requestsPerSecond`, give a run more time, or start the next run within six hours.',
  ],
  truncated: ['The response is cut off. It is retried.', 'Check the network and proxies if it persists.'],
  unknown_host: [
    'No host has the name in `baseUrl`.',
    'Check `baseUrl`, the network, and the [proxy](../how-to/proxies-and-certificates.md).',
  ],
};

export const deploymentErrors: Record<OfDeployments, Explanation> = {
  adopts_own: [
    'The prop `database` of the construct names the database that the stack itself creates.',
    'Leave the prop out, or name another database.',
  ],
  aws_refused: [
    'AWS refused a request: a permission, the credentials, the region or the resource is wrong.',
    'Follow the message: it names the permission.',
  ],
  aws_unavailable: ['AWS did not respond, or limited the rate of requests.', 'Run again later.'],
  aws_unexpected: ['AWS responded in an unexpected way.', 'Report it.'],
  catalog_contended: ['Others keep changing the same table in Glue.', 'Run again later.'],
  column_types: [
    'A Glue table has other column types than the lake.',
    'Drop the table with the command of the message (no record is lost), and rebuild the catalog.',
  ],
  database_missing: [
    'The Glue database or a table in it does not exist.',
    'Deploy the stack, or create the database as the message shows.',
  ],
  environment: ['A variable that the stack sets for its functions is missing.', 'Deploy again.'],
  event: [
    'The event of a function has a field or a value that is not allowed.',
    'Correct the event: the message lists the allowed fields.',
  ],
  instance_name: [
    'The name of a `BrandReports` construct is not allowed or not unique in its stack.',
    'Use a letter, then letters, digits and `-`, 38 at most.',
  ],
  no_catalog: ['The operation needs the Glue database of the lake.', 'Name it with `--database`.'],
  not_a_view: [
    'The Glue database has a table with the name of a view.',
    'Use another database, or drop the table.',
  ],
  other_lake: ['A Glue table belongs to another lake.', 'Use another database, or drop the table.'],
  secret_outside_prefix: [
    '`secretName` of a brand does not begin with the prefix that the functions may read.',
    'Leave `secretName` out, or give the secret a name that begins with `brand-reports/`.',
  ],
  shared_bucket: ['Two constructs use the same bucket.', 'Name another bucket, or deploy all brands as one.'],
  view_too_large: [
    'The settings of the brands differ so much that Glue would refuse the text of a view.',
    'Give brands the same `fields`, `kinds` and `states`, or deploy some of the brands as a second stack.',
  ],
};

export const bugs: Record<Bugs, Explanation> = {
  bad_key: ['The program built an invalid key of an object.', 'Report a bug.'],
  never_ends: ['The command stopped without finishing.', 'Run it again, and report it.'],
  run_twice: ['A run registered twice.', 'Report it.'],
  unexpected: [
    'Something happened that the program does not expect. The log has the place in the code.',
    'Report it, with the log.',
  ],
};
