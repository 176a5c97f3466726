const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const WIDE =
  /\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}]/u;

/** How many columns of a terminal the text takes. */
export function width(text: string): number {
  if (/^[\x20-\x7E]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** The text on one line and without anything that a terminal would obey. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, (control) => {
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[control];
    return short ?? `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The text, or as much of it as fits into so many columns, with `…` where it was cut. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let fits = '';
  let taken = 0;
  for (const { segment } of graphemes.segment(text)) {
    taken += width(segment);
    if (taken > columns - 1) break;
    fits += segment;
  }
  return `${fits}…`;
}
