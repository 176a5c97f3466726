/** Names every error code. docs/reference/errors.md has the cause and the remedy of each; a test compares the two. */

type Flags =
  | 'bad_csv'
  | 'bad_output'
  | 'bad_source'
  | 'day_to_come'
  | 'days_reversed'
  | 'no_days_named'
  | 'not_as_of';
type Names = 'unknown_brand' | 'unknown_report' | 'unknown_table' | 'several_brands';
type Answers = 'no_answer' | 'no_terminal' | 'not_confirmed' | 'place_taken';
type Files = 'database_unwritable' | 'no_dbt_project';
type Machine = 'address_space' | 'no_cache' | 'now_ahead' | 'port_unavailable' | 'unsafe_cache';
type Queries = 'event_not_received' | 'not_known_then' | 'sql' | 'sql_refused';

type Settings = 'end_date' | 'settings' | 'settings_json' | 'settings_maintained';
type MoreSettings = 'settings_missing' | 'settings_unreadable';
type Secrets = 'bad_credentials' | 'no_credentials' | 'other_base_url';

type Lake = 'bad_lake' | 'bad_lake_owner' | 'demo_lake' | 'lake_folder' | 'no_lake' | 'other_format';
type Disk = 'disk_failed' | 'disk_full' | 'file_too_large' | 'lake_not_writable' | 'lake_unusable';
type Intruders = 'lake_open_to_all' | 'link_in_lake';
type Locks = 'contended' | 'iceberg_contended' | 'lake_locked' | 'lake_unlockable' | 'too_many_open_files';
type Damage =
  | 'file_unreadable'
  | 'damaged_chunk'
  | 'damaged_document'
  | 'damaged_snapshot'
  | 'object_missing';
type Unreadable = 'statement_unreadable' | 'version_unreadable' | 'unreadable_snapshot';
type Nothing = 'nothing_to_close' | 'nothing_to_state';
type Empty = 'day_not_committed' | 'nothing_to_verify' | 'version_not_kept';
type Closes =
  | 'already_closed'
  | 'amounts_unknown'
  | 'before_latest_close'
  | 'close_follows'
  | 'month_not_over'
  | 'not_closed'
  | 'not_whole';

type Requests = `http_${number}` | 'network' | 'out_of_time' | 'stopped' | 'timeout' | 'tls';
type Refusals = 'unknown_host' | 'brand_busy' | 'lease_unavailable' | 'refused' | 'redirect' | 'service_code';
type Bodies =
  | 'bad_record'
  | 'envelope'
  | 'missing_list'
  | 'not_json'
  | 'not_utf8'
  | 'too_large'
  | 'truncated';
type Pages = 'count_mismatch' | 'cursor_died' | 'empty_pages' | 'endless' | 'no_progress' | 'page_info';
type MorePages = 'bad_cursor' | 'other_id' | 'repeated_cursor' | 'repeated_page';

type Days = 'claim_lost' | 'clocks_differ' | 'later_reading' | 'range_ahead' | 'restarted_too_often';
type Records = 'instant_refused' | 'instant_unclear' | 'other_dates' | 'too_many_fields';

type Aws = 'aws_refused' | 'aws_unavailable' | 'aws_unexpected';
type Catalog =
  | 'catalog_contended'
  | 'column_types'
  | 'database_missing'
  | 'no_catalog'
  | 'not_a_view'
  | 'other_lake'
  | 'view_too_large';
type Functions = 'environment' | 'event';
type Stack = 'instance_name' | 'secret_outside_prefix';

type Bugs = 'bad_key' | 'never_ends' | 'unexpected';

type OfCommands = Flags | Names | Answers | Files | Machine | Queries | Settings | MoreSettings | Secrets;
type OfLakes = Lake | Disk | Intruders | Locks | Damage | Unreadable | Nothing | Empty | Closes;
type OfReadings = Requests | Refusals | Bodies | Pages | MorePages | Days | Records;

export type ErrorCode = OfCommands | OfLakes | OfReadings | Aws | Catalog | Functions | Stack | Bugs;
