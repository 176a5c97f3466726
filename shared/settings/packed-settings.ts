/*
 * Packs the checked settings of a deployment for its functions. They travel in the properties of a custom resource, and
 * the function that handles it stores them in the lake. Their hash identifies them everywhere, so that readers can
 * verify that these settings were checked.
 */
import { hash } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import * as z from 'zod/mini';
import { BrandReportsError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import type { Settings } from './settings.ts';

/** Checked settings on their way to the functions. */
export interface PackedSettings {
  /** SHA-256 of their JSON, in hexadecimal digits. */
  hash: string;
  /** Their JSON, compressed by Brotli, in Base64. */
  packed: string;
}

/**
 * CloudFormation sends the old and the new properties in one event. Lambda accepts 1 MB, but in some regions still 256
 * kB, the limit until 2025. 300 brands take 9,000 characters.
 */
const MAX_PACKED_CHARACTERS = 90_000;
/** I12: the size that such settings may have after decompression. */
const MAX_BYTES = 32_000_000;

/** Packs checked settings; the schema orders their keys. @throws BrandReportsError `config` if they are too large */
export function packSettings(settings: Settings): PackedSettings {
  const text = JSON.stringify(settings);
  const packed = brotliCompressSync(text).toString('base64');
  if (packed.length <= MAX_PACKED_CHARACTERS) return { hash: hash('sha256', text), packed };
  throw new BrandReportsError(
    'config',
    'settings_too_large',
    `The settings of ${Object.keys(settings.brands).length} brands take ${packed.length} characters when compressed; a deployment can hand ${MAX_PACKED_CHARACTERS} to its functions. Divide the brands between several stacks.`,
  );
}

const schema = z.custom<Settings>(
  (value) => isJsonObject(value) && isJsonObject(value.brands) && isJsonObject(value.deployment),
);

/**
 * The settings in their JSON. Only the outline is checked: a deployment has checked the bytes with this hash, and the
 * whole schema would take a sixth of a start.
 * @returns `undefined` for other bytes
 */
export function settingsOfHash(json: Uint8Array, sha256: string): Settings | undefined {
  if (hash('sha256', json) !== sha256) return undefined;
  const found: unknown = JSON.parse(new TextDecoder().decode(json));
  return z.safeParse(schema, found).data;
}

/** The settings that `packSettings` has packed, and their JSON; `undefined` for anything else. */
export function unpackSettings({
  hash: sha256,
  packed,
}: PackedSettings): { json: Buffer; settings: Settings } | undefined {
  try {
    const json = brotliDecompressSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_BYTES });
    const settings = settingsOfHash(json, sha256);
    return settings && { json, settings };
  } catch {
    return undefined;
  }
}
