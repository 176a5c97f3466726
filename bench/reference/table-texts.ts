import { CHANGE_COLUMNS } from '../../shared/history/index.ts';

/** Contains the texts of docs/reference/tables.md other than the columns. */

/** The head of the page; `@types` stands for the table of types. */
export const COMMON = `# Tables

This page lists every table with its columns. \`npm run reference\` writes it from the code and a sample lake, and
a test compares the two. Athena has the tables in the Glue database \`brand_reports\`; \`brand-reports query\` and
[\`brand-reports open\`](../how-to/open-in-bi-tools.md) have them in DuckDB. For most questions a [view](views.md) is the better start.

| table | a row is |
| --- | --- |
| [\`clicks\`](#clicks), [\`click_details\`](#click_details), [\`orders\`](#orders), [\`transactions\`](#transactions), [\`attribution\`](#attribution) | a record of the service |
| [\`coverage\`](#coverage) | a day of a report: its state, and when it was read |
| [\`closes\`](#closes) | a day in a closed month: its place in the chain of its changes |
| [\`<table>_before\`](#earlier-records) | a record as it was before a later reading changed it |

Which columns has your \`orders\`? The interface documents almost no field of orders and transactions, so their columns follow from
the records that your service sends. This page shows the columns of the sample service. To see yours:

\`\`\`sh
npx brand-reports query "DESCRIBE orders"
\`\`\`

[\`dbt init\`](../how-to/dbt.md) also writes the meaning and the role of each column.

## Rules for all tables

**Partitions.** \`brand\` and \`dt\` (or \`brand\`, \`report\` and \`month\`) are text. Filter on them: Athena and \`query\` then read only
these partitions. \`dt\` is the day in the brand's time zone, \`YYYY-MM-DD\`. In \`query\`, each table with \`dt\` also has a last column
\`day\`, the same day as a \`DATE\`, unless the records have a field \`day\`.

**Types.** Athena and DuckDB name the same types differently:

@types

A \`timestamp\` is in UTC, to the millisecond, without a time zone. [Iceberg tables](../how-to/iceberg-tables.md) have \`timestamp with
time zone\` instead.

**NULL.** A column is NULL if the record lacks the field, has \`null\`, or has a value that does not fit the column. "no" in the
column "NULL" means that every row has a value.

**Documented columns** come from the [interface](../explanation/interface.md) and always exist. **Discovered columns** are added when
records first have a field, one for each field, in the order of discovery. A column is named after its field in snake case:
\`adGroupId\` becomes \`ad_group_id\`. A day adds at most 250 columns, and a table has at most 1,000 discovered columns. Further
fields go to \`_rescued\`.

**The type of a discovered column** follows from all values of the day that first has it, and the setting
[\`columns\`](settings.md#the-type-of-a-column) can name another one beforehand:

| values | type | example |
| --- | --- | --- |
| only numbers | \`decimal(38,9)\` | \`amount\`, but also \`create_time\` in seconds since 1970 |
| only numbers, in a field whose name ends in \`id\`, \`_no\` or \`_number\` | \`string\` | \`transid\`, \`order_number\` |
| only true and false | \`boolean\` | \`first_purchase\` |
| everything else: texts, lists, objects, mixed values | \`string\` | \`currency\`; \`items\` as JSON |

**Ids are text and money is an exact decimal.** No amount passes through a float. If your service sends amounts as text, the
column is text: views convert it, your own SQL needs a \`CAST\`.

**A column never changes its type**, so old files stay readable. If a type turns out to be wrong, the setting \`columns\` adds a second
column beside the first: \`"amount": "decimal(18,2)"\` adds \`amount_decimal_18_2\`.

**\`_rescued\`** is a JSON object with every value that fits no column of its field, by the name of the field. It is NULL for almost
all rows. So no value is lost. **\`_synced_at\`** is when the reading that found the row began; two rows that
differ only in \`_synced_at\` count as equal.

**The order of columns** in Athena is: documented, \`_rescued\`, \`_synced_at\`, discovered, partitions. In \`query\`, \`_rescued\` and
\`_synced_at\` come last. Name the columns in your SQL instead of relying on their positions.

**The key** identifies a record within a day. It drops records that overlapping pages repeat, and lets \`diff\` and \`changes\` show an
altered record as altered. Set [\`key\`](settings.md#the-key-of-a-record) for a report without one.

The column "example" shows the row of the sample lake that has the most values.`;

/** Columns of tables that have a value in every row, by table; of tables of records they follow from the rules above. */
export const NEVER_NULL: Readonly<Record<string, 'all' | readonly string[]>> = {
  coverage: ['dt', 'state'],
  closes: ['dt', 'counts', 'closed_at'],
};

/** What identifies a row, by table. */
export const KEYS: Readonly<Record<string, string>> = {
  clicks: '`id`',
  click_details: 'none; `id` is the `id` of the click',
  orders: '`transid`, if every record of a reading has its own; else none',
  transactions:
    'none, unless the setting `key` names it; `diff` and `changes` use `transaction_id`, or else `id`, if every row has its own',
  attribution: 'none, unless the setting `key` names it',
  coverage: '`brand`, `report`, `dt`',
  closes: '`brand`, `report`, `month`, `dt`',
};

/** A paragraph for a table, and what is known of discovered columns. */
export const NOTES: Readonly<Record<string, { text: string; columns?: Readonly<Record<string, string>> }>> = {
  clicks: { text: 'A click never changes.' },
  click_details: {
    text: 'The report `clicks_detail` is off by default, because it costs one request for each click. Its fields beside `id` are discovered.',
  },
  orders: {
    text: `All columns of records are discovered. Bonuses and campaign payments are orders too, with their own \`type\`: the view
[\`publisher_performance\`](views.md#publisher_performance) leaves them out. \`status\` is the current state; for earlier states see
[\`order_states\`](views.md#order_states).`,
    columns: {
      transid: 'the key; the service sorts by it',
      status: 'new, effective or void',
      type: 'trans, manual_trans, or the kind of bonus or campaign payment',
      customer_id: 'added for the examples of these pages',
      promotion: 'appears on 2026-03-05',
    },
  },
  transactions: {
    text: `All columns of records are discovered. A row is a line of an order; the day is the day on which the order was made. A
transaction and its order are the same money: do not add them up.`,
    columns: {
      order_status: 'new, mixed, locked, paid or void; mixed: the lines of the order differ',
      sku_status: 'the state of the line: new, locked, paid or void',
      transaction_type: 'normal, manually_added, or the kind of bonus or campaign payment',
    },
  },
  attribution: {
    text: `Do not sum \`click\`: it repeats on every product of a tracking link and day. The view
[\`attribution_daily\`](views.md#attribution_daily) counts it once. \`dpv\` may be summed.`,
  },
  coverage: {
    text: `A row is as old as the run that wrote it. If the pipeline has stopped, compare \`overdue_at\` with the current time, or use the view
[\`freshness\`](views.md#freshness), which does. \`state\` is one of:

| \`state\` | meaning |
| --- | --- |
| \`failed\` | the last attempt failed, whatever was read before |
| \`missing\` | never read |
| \`overdue\` | due again for longer than the schedule allows |
| \`unverified\` | empty, and the report has never returned a record; or its ledger was made from snapshots, so it is unknown whether the day is whole |
| \`in_progress\` | a run is reading the day, or the next run resumes it |
| \`erased\` | a person erased the day; no run reads it |
| \`open\` | read up to a time before the day was over |
| \`complete\` | read whole after the end of the day; records may still change |
| \`settled\` | complete, and no further reading is planned |`,
  },
  closes: {
    text: `A close has a row for a day only if its place, or whether it counts, differs from the closes before. So the place of a day at a close
is in the latest row of the day up to that close. The view [\`since_close\`](views.md#since_close) compares these places with now.`,
  },
};

/** The tables that repeat the columns of others. */
export const DERIVED = `## Earlier records

\`clicks_before\`, \`click_details_before\`, \`orders_before\`, \`transactions_before\` and \`attribution_before\` have a row for each record
that a later reading changed after its day was first closed, as it was before. They have the columns of the table without \`_synced_at\`, after
${CHANGE_COLUMNS.map(({ name }) => `\`${name}\``).join(', ')}. A row with \`_what\` = \`added\` has \`_key\` alone if its key was
not there before. The partitions are \`brand\` and \`dt\`. The view [\`changes\`](views.md#changes) shows before and after.`;
