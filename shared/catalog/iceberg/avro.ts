/* Only the part of Avro's files that Iceberg manifests need: a library for this would add 320 kB. */
import { hash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';

export interface Avro<T> {
  schema: unknown;
  write(to: AvroWriter, value: T): void;
}

/** A field of a record, which Iceberg finds by its id. */
type Field<T> = readonly [id: number, type: Avro<T>];

export const long: Avro<number> = {
  schema: 'long',
  write: (to, value) => to.count(value),
};
export const int: Avro<number> = { ...long, schema: 'int' };
export const boolean: Avro<boolean> = {
  schema: 'boolean',
  write: (to, value) => to.raw(Uint8Array.of(value ? 1 : 0)),
};
export const bytes: Avro<Uint8Array> = {
  schema: 'bytes',
  write: (to, value) => to.sized(value),
};
export const string: Avro<string> = {
  schema: 'string',
  write: (to, value) => to.sized(Buffer.from(value)),
};

export function optional<T>(type: Avro<T>): Avro<T | null> {
  return {
    schema: ['null', type.schema],
    write(to, value) {
      to.count(value === null ? 0 : 1);
      if (value !== null) type.write(to, value);
    },
  };
}

/** @param properties of the schema besides the items */
export function list<T>(items: Avro<T>, properties: Readonly<Record<string, unknown>>): Avro<readonly T[]> {
  return {
    schema: { type: 'array', ...properties, items: items.schema },
    write(to, values) {
      if (values.length > 0) to.count(values.length);
      for (const value of values) items.write(to, value);
      to.count(0);
    },
  };
}

/** @param fields in the order of the file; an optional field is null by default */
export function record<T extends object>(
  name: string,
  fields: { readonly [Name in keyof T]: Field<T[Name]> },
): Avro<T> {
  const schemas = Object.entries<Field<unknown>>(fields).map(([field, [id, { schema }]]) => ({
    name: field,
    type: schema,
    'field-id': id,
    ...(Array.isArray(schema) && { default: null }),
  }));
  return {
    schema: { type: 'record', name, fields: schemas },
    write(to, value) {
      for (const field in fields) fields[field][1].write(to, value[field]);
    },
  };
}

const MAGIC = Buffer.from('Obj\x01', 'latin1');
const SYNC_BYTES = 16;

export function avroFile<T>(
  type: Avro<T>,
  records: readonly T[],
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const block = new AvroWriter();
  for (const each of records) type.write(block, each);
  const sync = hash('sha256', block.written(), 'buffer').subarray(0, SYNC_BYTES);
  const file = new AvroWriter();
  const header = { 'avro.schema': JSON.stringify(type.schema), 'avro.codec': 'deflate', ...metadata };
  file.raw(MAGIC);
  file.count(Object.keys(header).length);
  for (const text of Object.entries(header).flat()) string.write(file, text);
  file.count(0);
  file.raw(sync);
  file.count(records.length);
  // A list of 10,800 manifests (300 brands, 3 years) takes a sixth of its bytes, and each commit writes one.
  file.sized(deflateRawSync(block.written(), { level: 1 }));
  file.raw(sync);
  return file.written();
}

class AvroWriter {
  #bytes = Buffer.allocUnsafe(1024);
  #length = 0;

  written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  raw(added: Uint8Array): void {
    this.#reserve(added.length);
    this.#bytes.set(added, this.#length);
    this.#length += added.length;
  }

  sized(added: Uint8Array): void {
    this.count(added.length);
    this.raw(added);
  }

  /** Zigzag, seven bits in each byte: the lowest bit of the first byte is the sign. */
  count(value: number): void {
    this.#reserve(9);
    let rest = Math.floor(value / 64);
    this.#byte((value % 64) * 2, rest);
    while (rest > 0) {
      const low = rest % 128;
      rest = Math.floor(rest / 128);
      this.#byte(low, rest);
    }
  }

  #byte(low: number, rest: number): void {
    this.#bytes[this.#length++] = rest > 0 ? low + 128 : low;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
