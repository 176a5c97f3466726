import type { Column } from '../../base/column-types.ts';

const BETWEEN = 'chr(31)';
/** Engines write such a number at a path in different ways, e.g. `1.50` as `1.5`, so it is no key. */
export const NOT_WHOLE_NUMBER = '-?[0-9]+([.][0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)';

/** SQL of the key of a current row (`DayHistory.key`), which rows of what was before have in `_key`; NULL: no key. */
export function keySql(name: string, columns: readonly Column[]): string {
  const parts = name.split(',').map((part) => {
    const places = part.split('|').map((place) => placeSql(place, columns));
    return places.length === 1 ? (places[0] ?? 'NULL') : `COALESCE(${places.join(', ')})`;
  });
  const [only = 'NULL', ...others] = parts;
  if (others.length === 0) return only;
  const texts = parts.map((part) => `COALESCE(${part}, '')`);
  return `NULLIF(${texts.join(` || ${BETWEEN} || `)}, ${others.map(() => BETWEEN).join(' || ')})`;
}

/** The text of a value, as `texts` of its type returns it; NULL if it is empty. */
function placeSql(place: string, columns: readonly Column[]): string {
  const [name, ...path] = place.split('.');
  const column = columns.find((each) => each.name === name);
  if (!column) return 'CAST(NULL AS varchar)';
  if (path.length > 0) {
    const text = `json_extract_scalar("${name}", '$.${path.join('.')}')`;
    return `NULLIF(regexp_replace(regexp_replace(${text}, '^${NOT_WHOLE_NUMBER}\\z', ''), '^-0\\z', '0'), '')`;
  }
  switch (column.type) {
    case 'string':
      return `NULLIF("${name}", '')`;
    case 'timestamp':
      return `CAST(date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00', "${name}") AS varchar)`;
    default:
      return `CAST("${name}" AS varchar)`;
  }
}
