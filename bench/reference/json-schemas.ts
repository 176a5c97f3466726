/** Defines what `--json` prints and what events contain. The compiler compares each schema with the type of the product. */
import * as z from 'zod';
import { PROBLEM_STATES, DAY_STATES } from '../../shared/planning/day-state.ts';
import type { DayFacts } from '../../shared/day-facts.ts';
import { ERROR_KINDS } from '../../shared/errors.ts';
import type { CheckOutcome } from '../../shared/check/check.ts';
import type { EraseOutcome } from '../../shared/operations/erase.ts';
import type { RebuildOutcome } from '../../shared/operations/rebuild-days.ts';
import type { DayVersions, RollbackOutcome } from '../../shared/operations/rollback.ts';
import { STATUSES, type SyncOutcome } from '../../shared/outcome.ts';
import type { DamagedDocument } from '../../shared/restore/index.ts';

const day = z.string().meta({ format: 'date' });
const instant = z.string().meta({ format: 'date-time' });
const count = z.number().meta({ type: 'integer', minimum: 0 });
const status = z.enum(STATUSES);
const texts = z.array(z.string());
const nullable = { text: z.string().nullable(), instant: instant.nullable(), count: count.nullable() };
const ofReport = { brand: z.string(), report: z.string() };
const word = <const Words extends readonly string[]>(...words: Words) => z.enum(words);

const error = z.object({
  kind: z.enum(ERROR_KINDS).describe('Who acts: errors.md, section "Kinds"'),
  code: z.string().describe('errors.md lists the codes'),
  message: z.string().describe('For people; its words may change'),
});

const dayOutcome = z.object({
  dt: day,
  outcome: word('published', 'unchanged', 'kept', 'pending', 'busy', 'waiting', 'failed'),
  rows: count,
  pages: count,
  refusedLookups: count.optional().describe('Lookups that the service refused; missing for none'),
});

const sync = z.object({
  status,
  reports: z.array(
    z.object({
      ...ofReport,
      status,
      days: z.array(dayOutcome),
      error: error.optional(),
      requests: count,
      retries: count,
      throttles: count.describe('Responses with HTTP 429'),
    }),
  ),
}) satisfies z.ZodType<SyncOutcome>;

const checkFinding = z.object({
  level: word('ok', 'warning', 'undecided', 'error').describe(
    '`undecided`: numbers would be wrong or missing until a setting decides; `error` and `undecided` make the status `failed`',
  ),
  code: z.string(),
  message: z.string(),
  setting: z
    .object({
      path: z.array(z.string()).describe('From the settings of the brand on'),
      value: z.json(),
      why: z.string(),
      isCertain: z.boolean().describe('Otherwise a person has to decide'),
    })
    .optional()
    .describe('The setting that the responses support, as `init` writes it'),
});
const check = z.object({
  status: word('ok', 'failed', 'busy'),
  brands: z.array(
    z.object({
      brand: z.string(),
      clockSkewMs: z.number().describe('The time of the service minus the time of this machine'),
      findings: z.array(checkFinding),
      reports: z.array(z.object({ report: z.string(), findings: z.array(checkFinding) })),
    }),
  ),
}) satisfies z.ZodType<CheckOutcome>;

const states = z.enum(Object.keys(DAY_STATES) as [keyof typeof DAY_STATES]);
const dayFacts = z.object({
  dt: day,
  state: states.describe(`Problems: ${PROBLEM_STATES.join(', ')}`),
  committedState: z.custom<DayFacts['committedState']>().meta({ type: ['string', 'null'] }),
  rows: nullable.count,
  pages: nullable.count,
  refusedLookups: nullable.count,
  digest: nullable.text,
  readFrom: nullable.instant.describe('When the reading of the version began'),
  readTo: nullable.instant.describe('Up to when all records are known'),
  timeZone: nullable.text,
  totals: z.custom<DayFacts['totals']>().meta({ type: 'object' }).optional(),
  totalsPending: z
    .literal(true)
    .optional()
    .describe('The settings name other fields than were summed: the next reading sums them'),
  changes: z.custom<DayFacts['changes']>().meta({ type: 'object' }).optional(),
  nextDue: nullable.instant.describe('When the day is read again; null: never or unknown'),
  overdueAt: nullable.instant,
  failure: error
    .extend({ since: instant.optional(), times: count.optional(), retryAt: instant.optional() })
    .optional(),
  findings: z
    .array(
      z.object({
        check: z.string().describe('findings.md lists the names'),
        title: z.string(),
        detail: z.string(),
        advice: z.string(),
        since: instant,
        isCertain: z.boolean(),
        sql: z.string().optional(),
      }),
    )
    .optional(),
}) satisfies z.ZodType<DayFacts>;

const lists = z.array(z.looseObject({}));
const statusOutput = z.object({
  lake: z.string(),
  now: instant,
  tables: z.array(
    z.object({
      ...ofReport,
      table: z.string(),
      hasReturnedRecords: z.boolean(),
      newestComplete: day.nullable(),
      rows: count,
      days: z.array(dayFacts),
      lastRun: z.looseObject({ at: instant, status, failedDays: count }).optional(),
      every: z.string().optional(),
      roleGaps: lists.optional(),
      damaged: z
        .array(z.object({ key: z.string(), month: z.string().optional(), message: z.string() }))
        .optional(),
      problems: z.array(
        z.object({
          ...{ id: z.string(), ...ofReport, table: z.string(), what: z.string(), days: z.array(day) },
          since: instant.optional(),
          graceMs: count.describe('The watcher reports it after so much time'),
          why: z.string(),
          remedy: z.object({ sentence: z.string(), start: z.enum(['sync', 'check']).optional() }),
          state: z.enum(PROBLEM_STATES).optional(),
        }),
      ),
    }),
  ),
});

const diff = z.object({
  days: z.array(
    z.object({
      ...ofReport,
      day,
      rows: count,
      closed: z.boolean(),
      changes: z.array(
        z.object({
          id: z.string(),
          previousId: nullable.text,
          at: z.string(),
          cause: z.string().describe('reading, rollback or rebuild'),
          diff: z
            .object({ added: count, removed: count, altered: count, records: lists })
            .describe('`records`: at most 10,000; the view `changes` has all'),
        }),
      ),
      anew: instant.optional().describe('When the history of the day began anew; missing: never'),
    }),
  ),
});

const payoutAmounts = z.object({ commission: nullable.text, void: nullable.text, final: nullable.text });
const settingsReview = z.object({
  settings: z.string().describe('The file'),
  brands: z.array(
    z.object({ brand: z.string(), hash: z.string(), lakeHash: nullable.text, lakeSince: nullable.text }),
  ),
  changes: z.array(
    z.object({
      ...{ brand: z.string(), month: z.string(), closed: z.boolean() },
      ...{ publisherId: nullable.text, publisherName: nullable.text, currency: nullable.text },
      ...{ before: z.nullable(payoutAmounts), after: z.nullable(payoutAmounts) },
    }),
  ),
  daysToRead: z.array(z.object({ ...ofReport, table: z.string(), days: z.array(day) })),
});

const exceptions = z.array(z.object({ report: z.string(), day, why: z.string() }));
const closeSummary = z.object({
  brand: z.string(),
  month: z.string(),
  closedAt: instant,
  by: z.string(),
  settings: nullable.text,
  days: count,
  totals: z.array(
    z.object({
      ...{ publisher_id: nullable.text, publisher_name: nullable.text, currency: nullable.text },
      ...{ counted: z.string(), unknown: count, statement: z.string() },
    }),
  ),
  exceptions,
  roles: z.array(z.object({ report: z.string(), role: z.string() })),
  unreadable: z.array(z.object({ report: z.string(), column: z.string(), rows: count })),
  erased: count,
});
const close = z.union([
  z.object({ status: word('complete'), closed: z.array(closeSummary), before: z.array(closeSummary) }),
  z.object({ status: word('removed'), month: z.string(), brands: texts }),
  z.object({ closes: z.array(closeSummary), damaged: texts }).describe('Without a month'),
]);

const damagedDocument = z.object({
  key: z.string(),
  problem: z.string(),
  remedy: z.string(),
  outcome: word('damaged', 'restored', 'changed', 'failed'),
  writtenAt: instant
    .optional()
    .describe('Of the version that is put back; missing if there is no such version'),
  copy: z.string().optional(),
}) satisfies z.ZodType<DamagedDocument>;

const verify = z.object({
  status: word('ok', 'failed'),
  documents: z
    .array(damagedDocument.extend({ advice: z.string().optional().describe('Missing if it was restored') }))
    .optional()
    .describe('Missing if no document is damaged'),
  tables: z.array(
    z.object({
      brand: z.string(),
      table: z.string(),
      days: count,
      rows: count,
      mismatches: z.array(
        z.object({ dt: z.string(), snapshot: z.string(), message: z.string(), advice: z.string() }),
      ),
    }),
  ),
});

const ofDay = { ...ofReport, day };
const rollback = z.union([
  z.object({
    ...ofDay,
    versions: z.array(
      z.object({
        snapshot: z.string(),
        from: nullable.instant,
        to: nullable.instant.describe('null: the version is current'),
        rows: nullable.count,
        open: z.boolean().nullable(),
      }),
    ),
  }),
  z.object({
    status: word('complete'),
    ...ofDay,
    snapshot: z.string(),
    rows: count,
    replaced: z.object({ snapshot: z.string(), rows: count }),
  }),
  z.object({ status: word('busy'), ...ofDay }),
]) satisfies z.ZodType<DayVersions | RollbackOutcome>;

const rebuild = z.object({
  status,
  reports: z.array(
    z.object({
      ...ofReport,
      status,
      days: z.array(
        z.object({
          dt: day,
          outcome: z.custom<RebuildOutcome['reports'][number]['days'][number]['outcome']>().meta({
            type: 'string',
          }),
          rows: count,
          reason: z.string().optional(),
          message: z.string().optional(),
        }),
      ),
      error: error.optional(),
    }),
  ),
}) satisfies z.ZodType<RebuildOutcome>;

const amounts = z.record(z.string(), z.object({ objects: count, bytes: count }));
const erase = z.object({
  status: word('complete', 'planned', 'busy', 'incomplete', 'undone'),
  brand: z.string(),
  reports: texts,
  from: day,
  to: day,
  searched: amounts,
  removed: amounts,
  left: amounts,
  remains: texts,
}) satisfies z.ZodType<EraseOutcome>;

const failed = z.object({
  status: word('failed'),
  reports: z.array(z.never()).optional().describe('An empty list; missing for errors of SQL'),
  error,
});

const settingsName = z.object({
  hash: z.string().describe('The first 8 characters of the hash of the settings'),
  since: instant.optional().describe('From when on the lake has them; missing if it has other settings'),
});
const ofEvent = {
  ...ofReport,
  table: z.string(),
  at: instant,
  sequence: count,
  settings: settingsName.optional(),
};
const dayEvent = z.object({
  ...ofEvent,
  day,
  state: word('complete', 'settled', 'unverified'),
  version: z.string(),
  previousVersion: nullable.text,
  rows: count,
  sums: z.record(z.string(), z.record(z.string(), z.string())).describe('By currency and role, as text'),
  findings: texts,
});
const problemEvent = z.object({
  ...ofEvent,
  id: z.string().describe('The same in both events of a problem'),
  kind: word('problem', 'finding'),
  days: z.array(day).max(100),
  what: z.string(),
  why: z.string(),
  since: instant,
});
const syncEvent = z.object({
  event: z.object({ type: word('Day Published', 'Day Changed'), detail: dayEvent }),
});

/** A schema, and the command whose output it describes; missing for events. */
interface Contract {
  command?: string;
  title: string;
  schema: z.ZodType;
}

/** Every schema, by the name of its file. */
export const CONTRACTS: Readonly<Record<string, Contract>> = {
  sync: { command: 'sync', title: 'The last line of `sync --json`', schema: sync },
  'sync-event': { command: 'sync', title: 'Each line before the last of `sync --json`', schema: syncEvent },
  check: { command: 'check', title: '`check --json`', schema: check },
  status: { command: 'status', title: '`status --json`', schema: statusOutput },
  diff: {
    command: 'diff',
    title: '`diff --json`',
    schema: z.union([diff, settingsReview.describe('With `--settings`')]),
  },
  verify: { command: 'verify', title: '`verify --json`', schema: verify },
  rollback: { command: 'rollback', title: '`rollback --json`', schema: rollback },
  rebuild: { command: 'rebuild', title: '`rebuild --json`', schema: rebuild },
  close: { command: 'close', title: '`close --json`', schema: close },
  erase: { command: 'erase', title: '`erase --json`', schema: erase },
  error: { title: 'Any command with `--json` that fails', schema: failed },
  'day-event': { title: '`detail` of the events `Day Published` and `Day Changed`', schema: dayEvent },
  'problem-event': {
    title: '`detail` of the events `Problem Opened` and `Problem Solved`',
    schema: problemEvent,
  },
};

/** @param allowsMore a reader has to accept fields that later versions add; a test does not */
export function jsonSchemaOf(name: string, allowsMore = true) {
  const { schema = z.never(), title = name } = CONTRACTS[name] ?? {};
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (allowsMore && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return { $schema, title: title.replaceAll('`', ''), ...rest };
}
