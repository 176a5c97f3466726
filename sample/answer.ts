import type { JsonObject } from '../shared/base/json.ts';
import { reports } from '../shared/reports/index.ts';
import type { Query } from './actions/action.ts';
import { actions } from './actions/index.ts';
import { type Envelope, refusal, success } from './envelope.ts';
import { checkFields } from './fields.ts';
import type { Method, Routing } from './request.ts';

/** An authenticated call whose fields are not checked yet; `given` is undefined if the body was not a JSON object. */
interface Unchecked extends Omit<Query, 'fields'>, Routing {
  method: Method;
  given: JsonObject | undefined;
}

/**
 * The response of the action, or a refusal of anything that docs/explanation/interface.md, section 4, does not allow.
 */
export function answer({ action: name, version, method, given, ...call }: Unchecked): Envelope {
  const action = actions.get(name);
  if (version !== '1.0') return refusal('unknownAction', 'version: the only value is 1.0');
  // A report that was added is empty here, until the sample has records of it.
  if (action === undefined && Object.values(reports).some((report) => report.action === name))
    return success({ list: [], pageInfo: { hasNextPage: false } });
  if (action === undefined) return refusal('unknownAction', 'action: unknown action');
  if (given === undefined) return refusal('badField', 'the body must be a JSON object');
  const checked = checkFields(action.rules, given, method === 'GET' ? 'query' : 'body');
  if ('refused' in checked) return refusal('badField', checked.refused);
  const query = { ...call, fields: checked.fields };
  const conflict = action.conflict(query);
  return conflict === undefined ? action.answer(query) : refusal('badField', conflict);
}
