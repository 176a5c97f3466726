/**
 * Replays what the records of a day were before: with the current records it must give each closed version of the day.
 */
import { beforeShape } from '../../shared/history/index.ts';
import { versionKey } from '../../shared/lake/paths.ts';
import { readWithParquetjs } from '../../shared/lake/table/parquetjs-reader.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { keyTextOf, recordsAt } from '../history/places.ts';
import { BRAND } from '../simulation/contents.ts';
import { type RowTexts, textOfTexts, textsOfRow, unlike } from '../simulation/forms.ts';
import type { Judge } from './judge.ts';

export interface Replayed {
  /** The mismatches; an empty list is right. */
  findings: string[];
  /** The days that changed after they were closed, and the changes of such days. */
  days: number;
  changes: number;
}

export async function replayChanges({ store }: Pick<Lake, 'store'>, judge: Judge): Promise<Replayed> {
  const replayed: Replayed = { findings: [], days: 0, changes: 0 };
  for (const report of Object.values(reports)) {
    const columns = await judge.columnsOf(report);
    const shape = beforeShape(report, columns);
    for (const [name, versions] of judge.seen) {
      const { history } = versions.at(-1)?.committed ?? {};
      if (!name.startsWith(`${report.table} `) || !history?.object) continue;
      const day = name.slice(report.table.length + 1);
      const stored = await store.get(versionKey(shape.name, BRAND, day, history.object.snapshot));
      if (!stored) {
        replayed.findings.push(`${name}: ${history.object.snapshot} is missing`);
        continue;
      }
      replayed.days += 1;
      replayed.changes += history.place;
      const rows = await Array.fromAsync(readWithParquetjs(stored.body, shape.columns));
      const before = rows.map((row) => ({
        ...{ key: typeof row._key === 'string' ? row._key : undefined, what: String(row._what) },
        ...{ place: Number(row._place), content: textOfTexts(textsOfRow(row, columns)) },
      }));
      const keyOf = (texts: RowTexts) => keyTextOf(history.key ?? '', (place) => texts.get(place));
      const current = (versions.at(-1)?.texts ?? []).map((texts) => ({
        ...{ key: keyOf(texts), content: textOfTexts(texts) },
      }));
      for (const { committed, texts } of versions) {
        const { place } = committed.history ?? {};
        if (place === undefined) continue;
        const { missing, surplus } = unlike(recordsAt(place, current, before), texts.map(textOfTexts));
        if (missing.length + surplus.length > 0)
          replayed.findings.push(
            `${name} at ${place}: lacks ${surplus.length} records, invents ${missing.length}`,
          );
      }
    }
  }
  return replayed;
}
