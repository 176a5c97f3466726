/** A number literal that a JavaScript number would not print the same (`9007199254740993`, `1.10`), kept verbatim (I6). */
export interface RawNumber {
  readonly rawJSON: string;
}

/** A JSON value whose numbers keep all their digits. */
export type Json = null | boolean | string | number | RawNumber | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

declare global {
  // In Node from version 21 on, not yet in TypeScript's library.
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): Json;
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

/**
 * I6: parses JSON so that every number keeps its digits: a JavaScript number where its text is the literal's
 * own, a RawNumber otherwise.
 * @throws SyntaxError where the text is not JSON
 */
export function parseJson(text: string): Json {
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? JSON.rawJSON(source)
      : value,
  );
}

/** The inverse of parseJson: RawNumbers are written verbatim, lone surrogates as escapes. */
export function stringifyJson(value: Json): string {
  return JSON.stringify(value);
}

/** Whether a value is a RawNumber. */
export function isRawNumber(value: unknown): value is RawNumber {
  return JSON.isRawJSON(value);
}

/** The RawNumber of a JSON number literal. @throws SyntaxError where it is not JSON */
export function rawNumber(digits: string): RawNumber {
  return JSON.rawJSON(digits);
}

/** Whether a value is an object of JSON: not null, not a list, not a RawNumber. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Whether a value of unknown origin could stand in a JSON text. */
export function isJson(value: unknown): value is Json {
  if (value === null || ['boolean', 'string', 'number'].includes(typeof value) || isRawNumber(value))
    return true;
  return typeof value === 'object' && Object.values(value).every(isJson);
}

/** The literal of a JSON number; `undefined` for every other value. */
export function numberText(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : undefined;
}

/** True for text that is an integer in its only canonical form (no sign but `-`, no leading zero, no `-0`). */
export function isCanonicalInteger(text: string): boolean {
  return /^(0|-?[1-9]\d*)$/.test(text);
}
