import type { SampleBrand } from '../brand.ts';
import type { Cursors } from '../cursors.ts';
import type { Envelope } from '../envelope.ts';
import type { Fields, Rules } from '../fields.ts';
import type { Interpretations } from '../interpretations.ts';

/** An authenticated call whose fields are all well formed. */
export interface Query {
  brand: SampleBrand;
  fields: Fields;
  interpretations: Interpretations;
  cursors: Cursors;
}

export interface Action {
  rules: Rules;
  /** Why the fields contradict each other; `undefined` if they agree. */
  conflict(query: Query): string | undefined;
  answer(query: Query): Envelope;
}
