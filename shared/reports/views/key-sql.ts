import type { Column } from '../../column-types.ts';

const BETWEEN = 'chr(31)';

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
  if (path.length > 0) return `NULLIF(json_extract_scalar("${name}", '$.${path.join('.')}'), '')`;
  switch (column.type) {
    case 'string':
      return `NULLIF("${name}", '')`;
    case 'timestamp':
      return `CAST(date_diff('millisecond', TIMESTAMP '1970-01-01 00:00:00', "${name}") AS varchar)`;
    default:
      return `CAST("${name}" AS varchar)`;
  }
}
