import { CURRENT_SETTINGS_KEY, SETTINGS_PREFIX, settingsKey } from '../../shared/lake/paths.ts';
import { packSettings, unpackSettings } from '../../shared/settings/packed-settings.ts';
import type { Settings } from '../../shared/settings/settings.ts';

interface Stored {
  body: Buffer;
  etag: string;
  modifiedAt: Date;
}

/** Stores the settings as a deployment does. @param prefix of the lake in the bucket */
export function putSettings(objects: Map<string, Stored>, settings: Settings, prefix = ''): void {
  putPacked(objects, packSettings(settings), prefix);
}

/** The same with the properties of the custom resource. */
export function putPacked(
  objects: Map<string, Stored>,
  packed: ReturnType<typeof packSettings>,
  prefix = '',
): void {
  const put = (key: string, body: Buffer) =>
    objects.set(prefix + key, { body, etag: `"${packed.hash}"`, modifiedAt: new Date() });
  put(settingsKey(packed.hash), unpackSettings(packed)?.json ?? Buffer.of());
  put(CURRENT_SETTINGS_KEY, Buffer.from(`${JSON.stringify({ settings: packed.hash })}\n`));
}

/** Without the settings of the deployment. */
export function othersIn(objects: ReadonlyMap<string, Stored>): [string, Stored][] {
  return [...objects].filter(([key]) => !key.includes(SETTINGS_PREFIX));
}
