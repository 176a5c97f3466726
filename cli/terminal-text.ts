import { createRequire } from 'node:module';
import type stringWidth from 'string-width';

const require = createRequire(import.meta.url);
const ASCII = /^[\x20-\x7e]*$/;

/** How many columns of a terminal the text takes: `日` and `🦊` take two each. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  // Its tables take a tenth of a second to load, and most texts do not need them.
  const library: { default: typeof stringWidth } = require('string-width');
  return library.default(text);
}

/** The text on one line, with control characters escaped: text of a service must not steer the terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, (control) => {
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[control];
    return short ?? `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The text, shortened to at most `columns` columns; `…` marks where it was cut. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += displayWidth(segment);
    if (used > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
