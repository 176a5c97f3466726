import type { Json, JsonObject } from '../shared/base/json.ts';

/**
 * docs/explanation/interface.md, section 2. `cursor` is next to `data` only under the interpretation `cursorIn:
 * 'envelope'`.
 */
export type Envelope = { code: number; msg: string; data: JsonObject; cursor?: Json };

/** docs/explanation/interface.md, section 7, defines only the code 0; these codes are this service's own. */
export const codes = { authentication: 1001, unknownAction: 1002, badField: 1003, deadCursor: 1004 };

export function success(data: JsonObject): Envelope {
  return { code: 0, msg: 'success', data };
}

export function refusal(code: keyof typeof codes, msg: string): Envelope {
  return { code: codes[code], msg, data: {} };
}
