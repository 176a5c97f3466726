/*
 * The settings of a deployment are objects of the lake, so that a changed brand changes no function. A deployment stores
 * them under their hash and then points `settings/current.json` at them; its rollback points back. A function reads the
 * pointer at each invocation, and the settings when the pointer has changed. The policy of the bucket lets nobody but
 * the function of the deployment write them (infra/lake-bucket.ts).
 */
import * as z from 'zod/mini';
import { BrandReportsError } from '../shared/errors.ts';
import { parseJson } from '../shared/json.ts';
import { CURRENT_SETTINGS_KEY, settingsKey } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type PackedSettings, settingsOfHash, unpackSettings } from '../shared/settings/packed-settings.ts';
import type { Settings } from '../shared/settings/settings.ts';

const pointerSchema = z.object({ settings: z.string().check(z.regex(/^[0-9a-f]{64}$/)) });

/**
 * @returns reads the settings that the deployment has last pointed at
 * @throws BrandReportsError `config` if the lake has none, or damaged ones
 */
export function deployedSettings(store: ObjectStore): () => Promise<Settings> {
  let known: { sha256: string; settings: Settings } | undefined;
  return async () => {
    const sha256 = await currentSettings(store);
    if (known?.sha256 !== sha256) known = { sha256, settings: await storedSettings(store, sha256) };
    return known.settings;
  };
}

/** The hash of the settings that count. @throws BrandReportsError `config` if there is none */
async function currentSettings(store: ObjectStore): Promise<string> {
  const pointer = await store.get(CURRENT_SETTINGS_KEY);
  if (!pointer) throw unusable(store, CURRENT_SETTINGS_KEY, 'does not exist');
  try {
    return z.parse(pointerSchema, parseJson(new TextDecoder().decode(pointer.body))).settings;
  } catch {
    throw unusable(store, CURRENT_SETTINGS_KEY, 'is damaged');
  }
}

async function storedSettings(store: ObjectStore, sha256: string): Promise<Settings> {
  const key = settingsKey(sha256);
  const stored = await store.get(key);
  if (!stored) throw unusable(store, key, 'does not exist');
  const settings = settingsOfHash(stored.body, sha256);
  if (!settings) throw unusable(store, key, 'does not have the contents that its name stands for');
  return settings;
}

function unusable({ url }: ObjectStore, key: string, what: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'deployed_settings',
    `${url}/${key} ${what}. A deployment of the stack writes it. If one is under way, wait for its end. Otherwise deploy again, with a new value of "again" so that CloudFormation finds a change: npx cdk deploy --context again=${Date.now()}`,
  );
}

/**
 * Stores the settings of a deployment and makes them those that count.
 * @param lake the store that checks the format of the lake
 * @param bucket the same without that: settings do not begin a lake, so that a first deployment that fails leaves none
 * @throws BrandReportsError `config` if they are not what a deployment has packed, `conflict` if another one writes too
 */
export async function publishSettings(
  lake: ObjectStore,
  bucket: ObjectStore,
  packed: PackedSettings | undefined,
): Promise<Settings> {
  const unpacked = packed && unpackSettings(packed);
  if (!unpacked)
    throw new BrandReportsError(
      'config',
      'packed_settings',
      'The properties of the resource have no settings, or others than their hash stands for. Next step: synthesise the stack again and deploy it.',
    );
  await write(lake, bucket, settingsKey(packed.hash), unpacked.json);
  await write(lake, bucket, CURRENT_SETTINGS_KEY, pointerTo(packed.hash));
  return unpacked.settings;
}

async function write(lake: ObjectStore, bucket: ObjectStore, key: string, body: Buffer): Promise<void> {
  const holdsBody = (found: { body: Uint8Array } | undefined) =>
    found !== undefined && body.equals(found.body);
  const found = await lake.get(key);
  if (holdsBody(found)) return;
  const outcome = await bucket.put(key, body, found ? { ifMatch: found.etag } : { ifAbsent: true });
  // The SDK repeats a write whose response was lost. A deployment that was frozen meanwhile must not undo a later one.
  if (outcome !== 'conflict' || holdsBody(await lake.get(key))) return;
  throw new BrandReportsError(
    'conflict',
    'settings_contended',
    `Another deployment changed ${lake.url}/${key} at the same moment. Deploy again when that has ended.`,
  );
}

/** Whether another deployment into the same lake has pointed at other settings. */
export async function areSuperseded(bucket: ObjectStore, { hash: sha256 }: PackedSettings): Promise<boolean> {
  const pointer = await bucket.get(CURRENT_SETTINGS_KEY);
  return pointer !== undefined && !pointerTo(sha256).equals(pointer.body);
}

function pointerTo(sha256: string): Buffer {
  return Buffer.from(`${JSON.stringify({ settings: sha256 })}\n`);
}
