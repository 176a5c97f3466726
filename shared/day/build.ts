/* Makes a version of a day from its staged records; if the content equals the committed version, no snapshot is written. */
import type { Column } from '../base/column-types.ts';
import type { Committed } from '../lake/ledger.ts';
import type { Slice } from '../lake/progress.ts';
import {
  MAX_DISCOVERED,
  MAX_DISCOVERED_OF_DAY,
  type Observations,
  fieldsWithoutColumn,
  growSchema,
  mergeObservations,
} from '../table/columns.ts';
import { type Builder, type BuiltSnapshot, type KeyConflict, createBuilder } from './builder.ts';
import { fieldsWithMeaning, keyProblem } from '../planning/primary-key.ts';
import type { RecordKey } from '../records/record-list.ts';
import type { BuildContext } from '../context/context.ts';
import type { KeyRule } from './rows-of-day.ts';
import {
  type StagedDay,
  answersOf,
  exclusionsOf,
  instantUnclear,
  pagesOf,
  recordsOf,
  usedKeyField,
} from './staged-records.ts';

export interface BuildOptions {
  readBack: boolean;
  /** Whether the key has changed: a proof that the old key does not identify records does not hold for the new key. */
  isKeyNew?: boolean;
}

/**
 * @param fed the builder that got the reading's pages: it finishes the version if the chunks would make the same file
 * @returns a conflict if records with the same primary key differ, and only a second reading can show why (I1)
 */
export async function build(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  fed?: Builder,
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const { slices } = staged;
  const columns = await growToFit(
    ctx,
    staged.day,
    slices.map(({ observations }) => observations),
  );
  const keyField = usedKeyField(ctx, slices);
  const built = fed?.confirm({ columns, keyField, records: recordsOf(slices) })
    ? await fed.finish(options.readBack)
    : await buildFromChunks(ctx, staged, options, { columns, keyField, rule: 'identifies' });
  return 'conflict' in built ? built : withKeyProblem(ctx, slices, built);
}

function withKeyProblem(
  { settings: { key } }: BuildContext,
  slices: readonly Slice[],
  built: BuiltSnapshot,
): BuiltSnapshot {
  const keyUnused =
    key &&
    keyProblem(key, {
      records: recordsOf(slices),
      withoutKey: slices.reduce((sum, { withoutKey }) => sum + withoutKey, 0),
      fields: slices.flatMap(({ observations }) => Object.keys(observations)),
      keyIsNone: built.values?.keyIsNone ?? false,
    });
  return keyUnused === undefined ? built : { ...built, values: { ...built.values, keyUnused } };
}

async function buildFromChunks(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  basis: { columns: readonly Column[]; keyField: RecordKey | undefined; rule: KeyRule },
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const builder = await createBuilder(ctx, staged, basis);
  try {
    await addChunks(ctx, builder, staged, basis.rule === 'identifies' ? basis.keyField : undefined);
    if (!builder.conflict) return await builder.finish(options.readBack);
  } finally {
    await builder.abort();
  }
  const current = options.isKeyNew ? undefined : staged.committed;
  const rule = ruleProvenBy(ctx, builder.conflict, staged, current);
  return rule ? buildFromChunks(ctx, staged, options, { ...basis, rule }) : { conflict: builder.conflict };
}

/**
 * Adds all staged records, the newest slice first, so that its version of a record stays.
 * @param excludedBy the field that identifies records of the next day, if there is such a field
 * @throws BrandReportsError `contract` if the responses do not show which records belong to the day
 */
async function addChunks(
  ctx: BuildContext,
  builder: Builder,
  { day, prefix, slices }: StagedDay,
  excludedBy: RecordKey | undefined,
): Promise<void> {
  const done = slices.filter((slice) => slice.done);
  const answersOfSlice = await answersOf(ctx, day, done);
  for (const slice of done.toReversed()) {
    const answers = answersOfSlice();
    const exclusions = await exclusionsOf(ctx, prefix, slice, excludedBy);
    let ofDay = 0;
    for await (const list of pagesOf(ctx, prefix, slice, 'include')) {
      const isNewest = answers(list);
      const verdictOf = exclusions.among(list);
      ofDay += await builder.add(list, slice, (index) => (isNewest(index) ? verdictOf(index) : 'excluded'));
      if (builder.conflict) return;
    }
    if (ofDay === 0 && exclusions.holdMoreThanTheDay()) throw instantUnclear(ctx, day);
  }
}

/** I1: the rule for the key that a conflict proves; `undefined` if only a second reading can show it. */
function ruleProvenBy(
  { report }: BuildContext,
  { slice, versions }: KeyConflict,
  { slices }: StagedDay,
  current: Committed | undefined,
): KeyRule | undefined {
  // If pages overlap by design, every reading has records twice, and a record that changes with every response differs.
  const overlap = report.paging.style === 'position';
  if (slice.repeatsConflict !== undefined)
    return overlap && slice.repeatsConflict !== versions ? 'changes' : 'is_none';
  const isKnown = current?.values?.keyIsNone && !overlap;
  return isKnown || slice !== slices.at(-1) ? 'is_none' : undefined;
}

/** I7: columns are appended before the first file that has them is committed. */
async function growToFit(
  ctx: BuildContext,
  day: string,
  observations: readonly Observations[],
): Promise<readonly Column[]> {
  const observed = observations.reduce<Observations>(mergeObservations, {});
  const wanted = fieldsWithMeaning(ctx);
  const schema = await ctx.schema.update((current) => {
    const grown = growSchema(current, observed, ctx.settings.columns, wanted);
    // A schema that was never written is stored even if it did not grow: later versions may document other types.
    if (grown === current && current.recentWrites.length > 0) return current;
    const at = new Date(ctx.clock.wallMs()).toISOString();
    const seen = grown.columns.slice(current.columns.length).map(({ name }) => [name, { day, at }] as const);
    return { ...current, ...grown, firstSeen: { ...current.firstSeen, ...Object.fromEntries(seen) } };
  });
  const fields = fieldsWithoutColumn(schema, observed).length;
  if (fields > 0) {
    const message = `${fields} fields of ${day} have no column: their values are kept in _rescued. Of the fields that the interface does not document, the ${MAX_DISCOVERED_OF_DAY} most frequent of a day become columns, up to ${MAX_DISCOVERED} for a table. To see the values: SELECT _rescued FROM ${schema.table} WHERE dt = '${day}'. Name other fields that you need in the setting "columns" of ${ctx.report.name}: they become columns first`;
    ctx.log({ event: 'fields_without_column', day, fields, message });
  }
  return schema.columns;
}
