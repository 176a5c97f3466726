import type { SampleBrand } from '../brand.ts';
import type { Cursors } from '../cursors.ts';
import type { Envelope } from '../envelope.ts';
import type { Fields, Rules } from '../fields.ts';
import type { Readings } from '../readings.ts';

/** A call that is genuine and whose every field is well formed. */
export interface Query {
  brand: SampleBrand;
  fields: Fields;
  readings: Readings;
  cursors: Cursors;
}

export interface Action {
  rules: Rules;
  /** What no single field shows: why fields do not go together, `undefined` where they do. */
  conflict(query: Query): string | undefined;
  answer(query: Query): Envelope;
}
