import type { Json, JsonObject } from '../shared/json.ts';

/** Section 2 of the interface document. `cursor` is beside `data` only under the reading that puts it there. */
export type Envelope = { code: number; msg: string; data: JsonObject; cursor?: Json };

/** The document shows no code but 0: these are this service's own. */
export const codes = { authentication: 1001, unknownAction: 1002, badField: 1003, deadCursor: 1004 };

export function success(data: JsonObject): Envelope {
  return { code: 0, msg: 'success', data };
}

export function refusal(code: keyof typeof codes, msg: string): Envelope {
  return { code: codes[code], msg, data: {} };
}
