/*
 * Stores and reads the settings of a deployment as objects of the lake, so that a changed brand changes no function. A
 * deployment stores the settings under their hash and then points `settings/current.json` at them; its rollback points
 * back. A function reads the pointer at each invocation, and the settings if the pointer has changed. The policy of the
 * bucket lets only the role of the deployment write them (infra/lake-bucket.ts).
 */
import { BrandReportsError } from '../shared/errors.ts';
import { CURRENT_SETTINGS_KEY, settingsKey } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type PackedSettings, settingsOfHash, unpackSettings } from '../shared/settings/packed-settings.ts';
import type { Settings } from '../shared/settings/settings.ts';

/**
 * @returns a function that reads the settings of the last deployment
 * @throws BrandReportsError `config` if the lake has no settings, or if they do not match their hash
 */
export function deployedSettings(store: ObjectStore): () => Promise<Settings> {
  let known: { sha256: string; settings: Settings } | undefined;
  return async () => {
    const pointer = await store.get(CURRENT_SETTINGS_KEY);
    const text = new TextDecoder().decode(pointer?.body);
    const sha256 = /^{"settings":"([0-9a-f]{64})"}\n$/.exec(text)?.[1];
    if (sha256 === undefined) throw unusable(store, CURRENT_SETTINGS_KEY);
    if (known?.sha256 !== sha256) {
      const stored = await store.get(settingsKey(sha256));
      const settings = stored && settingsOfHash(stored.body, sha256);
      if (!settings) throw unusable(store, settingsKey(sha256));
      known = { sha256, settings };
    }
    return known.settings;
  };
}

function unusable({ url }: ObjectStore, key: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'deployed_settings',
    `${url}/${key} does not exist or is damaged. The deployment of the stack writes it: if one is under way, wait for its end. Otherwise deploy again, with a value that makes CloudFormation find a change: npx cdk deploy --context again=${Date.now()}`,
  );
}

/**
 * Stores the settings of a deployment and points at them.
 * @param bucket of a lake in any format: settings alone are not a lake, so a first deployment that fails creates no lake
 * @throws BrandReportsError `config` if the properties are not packed settings, `conflict` if another deployment writes
 * too
 */
export async function publishSettings(bucket: ObjectStore, packed: PackedSettings): Promise<Settings> {
  const unpacked = unpackSettings(packed);
  if (!unpacked)
    throw new BrandReportsError(
      'config',
      'packed_settings',
      'The settings in the properties of the resource do not match their hash. Next step: synthesise the stack again and deploy it.',
    );
  await write(bucket, settingsKey(packed.hash), unpacked.json);
  await write(bucket, CURRENT_SETTINGS_KEY, pointerTo(packed));
  return unpacked.settings;
}

async function write(bucket: ObjectStore, key: string, body: Buffer): Promise<void> {
  const found = await bucket.get(key);
  if (found && body.equals(found.body)) return;
  const outcome = await bucket.put(key, body, found ? { ifMatch: found.etag } : { ifAbsent: true });
  // The SDK repeats a write whose response was lost. If this deployment was suspended meanwhile, it must not undo a
  // later one.
  if (outcome !== 'conflict' || body.equals((await bucket.get(key))?.body ?? Buffer.of())) return;
  throw new BrandReportsError(
    'conflict',
    'settings_contended',
    `Another deployment changed ${bucket.url}/${key} at the same moment. Deploy again after that deployment has ended.`,
  );
}

/** Whether another deployment into the same lake has pointed at other settings since. */
export async function areSuperseded(bucket: ObjectStore, packed: PackedSettings): Promise<boolean> {
  const pointer = await bucket.get(CURRENT_SETTINGS_KEY);
  return pointer !== undefined && !pointerTo(packed).equals(pointer.body);
}

function pointerTo({ hash: sha256 }: PackedSettings): Buffer {
  return Buffer.from(`${JSON.stringify({ settings: sha256 })}\n`);
}
