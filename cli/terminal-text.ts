import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { styleText as nodeStyleText } from 'node:util';
import type stringWidth from 'string-width';

const require = createRequire(import.meta.url);
const ASCII = /^[\x20-\x7e]*$/;
/** Characters that steer a terminal, break a line or reorder the text. */
const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
/** Stands for the ESC of our own styles until they are printed. It is random, so no text from outside can contain it. */
const OWN_ESCAPE = randomUUID();
/** The units of one column, more than the longest emoji. Without it, endless accents would be one endless character. */
export const MAX_UNITS_PER_COLUMN = 16;

/** How many columns of a terminal the text takes: `日` and `🦊` take two each. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  // Loading its tables takes 0.1 s, and most texts do not need them.
  const library: { default: typeof stringWidth } = require('string-width');
  return library.default(text);
}

/** The text on one line, with control characters escaped. JSON keeps its meaning. */
export function oneLine(text: string): string {
  if (ASCII.test(text)) return text;
  return text.replace(STEERING, (control) => {
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[control];
    return short ?? `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A line with one of our styles, if standard output has colours. `printable` turns the style into codes of the terminal. */
export function styleText(format: Parameters<typeof nodeStyleText>[0], text: string): string {
  return nodeStyleText(format, oneLine(text)).replaceAll('\x1b', OWN_ESCAPE);
}

/** The text, safe to write: its lines stay lines, and only our own styles steer the terminal. */
export function printable(text: string): string {
  return text.split('\n').map(oneLine).join('\n').replaceAll(OWN_ESCAPE, '\x1b');
}
