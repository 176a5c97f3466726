/*
 * The settings of a deployment are a JSON file in the code of its functions. So CloudFormation updates settings and code
 * together, and rolls both back together.
 */
import * as z from 'zod/mini';
import { isJsonObject } from '../json.ts';
import type { Settings } from './settings.ts';

export const SETTINGS_FILE = 'settings.json';

/** The contents of the file. The schema orders the keys, so equal settings have equal contents. */
export function settingsText(settings: Settings): string {
  return JSON.stringify(settings);
}

const outline = z.custom<Settings>(
  (value) => isJsonObject(value) && isJsonObject(value.brands) && isJsonObject(value.deployment),
);

/**
 * The settings in the file. Only the outline is checked: the deployment has checked the settings, and the whole schema
 * would take a sixth of a start.
 */
export function settingsOfText(text: string): Settings {
  return z.parse(outline, JSON.parse(text));
}
