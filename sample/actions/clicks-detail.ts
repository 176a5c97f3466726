import type { JsonObject } from '../../shared/base/json.ts';
import { type Envelope, success } from '../envelope.ts';
import { integer } from '../fields.ts';
import type { Action, Query } from './action.ts';
import { textOf } from './select.ts';

/** docs/explanation/interface.md, section 4.2: the detail of one click, by `id`, by `pbtid`, or by both. */
export const clicksDetail: Action = {
  rules: { id: integer(), pbtid: integer() },
  conflict: ({ fields }) =>
    fields.id === undefined && fields.pbtid === undefined
      ? 'at least one of id or pbtid must be supplied'
      : undefined,
  answer({ brand, fields, interpretations }) {
    const asked = Object.entries(fields);
    const found = brand.records.clicks_detail
      .filter(({ record }) => asked.every(([name, value]) => textOf(record[name]) === value))
      .map(({ record }) => record);
    return shaped(found, interpretations.detail);
  },
};

function shaped(found: JsonObject[], shape: Query['interpretations']['detail']): Envelope {
  const [record] = found;
  if (shape === 'list') return success({ list: found });
  if (record === undefined) return success({});
  return success(shape === 'named' ? { click: record } : record);
}
