/** The records at a place of a day's chain of changes, from the current records and from what records were before. */

export interface KeyedRecord {
  /** `undefined`: the record has no key. */
  key: string | undefined;
  /** The values of the record as one text. */
  content: string;
}

export interface RecordBefore extends KeyedRecord {
  what: string;
  place: number;
}

export function recordsAt(
  place: number,
  current: readonly KeyedRecord[],
  before: readonly RecordBefore[],
): string[] {
  const later = before.filter((row) => row.place > place);
  const byKey = Map.groupBy(later, ({ key }) => key);
  byKey.delete(undefined);
  const found = current.filter(({ key }) => key !== undefined && !byKey.has(key));
  for (const rows of byKey.values()) {
    const first = Math.min(...rows.map((row) => row.place));
    found.push(...rows.filter((row) => row.place === first && row.what !== 'added'));
  }
  const keyless = [...current, ...later.filter(({ what }) => what === 'removed')]
    .filter(({ key }) => key === undefined)
    .map(({ content }) => content);
  for (const { key, what, content } of later) {
    if (key !== undefined || what !== 'added') continue;
    const index = keyless.indexOf(content);
    if (index < 0) keyless.push(`not there, but added later: ${content}`);
    else keyless.splice(index, 1);
  }
  return [...found.map(({ content }) => content), ...keyless].sort();
}

/** @param textAt the text of a place, e.g. of a column */
export function keyTextOf(name: string, textAt: (place: string) => string | undefined): string | undefined {
  const parts = name.split(',').map((part) => {
    const texts = part.split('|').map(textAt);
    return texts.find((text) => text) ?? '';
  });
  return parts.every((part) => part === '') ? undefined : parts.join('\u001f');
}
