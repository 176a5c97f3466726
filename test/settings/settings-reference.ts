import * as z from 'zod/mini';
import type { ReportRegistry } from '../../shared/reports/definition.ts';
import { settingsSchema } from '../../shared/settings/settings.ts';

/** One setting, as a page of the documentation lists it. */
export interface SettingReference {
  /** Keys joined by `.`; `*` is a name that the operator chooses. E.g. `brands.*.reports.order_list.page_size` */
  path: string;
  /** The value if the setting is left out; `undefined` if it has no default. */
  default: unknown;
  /** Whether the setting is required. */
  required: boolean;
  /** The allowed values, as messages state them. */
  allowed: string;
}

/** Every setting with its default and allowed values, taken from the schema that checks settings, in its order. */
export function settingsReference(reports: ReportRegistry): SettingReference[] {
  return settingsBelow(settingsSchema(reports), '', { required: true, default: undefined });
}

type Presence = Pick<SettingReference, 'required' | 'default'>;

function settingsBelow(schema: z.core.$ZodType, path: string, presence: Presence): SettingReference[] {
  if (schema instanceof z.ZodMiniDefault) {
    const { innerType, defaultValue } = schema._zod.def;
    return settingsBelow(innerType, path, { required: false, default: defaultValue });
  }
  if (schema instanceof z.ZodMiniPrefault || schema instanceof z.ZodMiniOptional)
    return settingsBelow(schema._zod.def.innerType, path, { required: false, default: undefined });
  if (schema instanceof z.ZodMiniPipe) return settingsBelow(schema._zod.def.in, path, presence);
  // A setting that only other reports have.
  if (schema instanceof z.ZodMiniNever) return [];
  if (schema instanceof z.ZodMiniObject)
    return Object.entries(schema._zod.def.shape).flatMap(([key, inner]) =>
      settingsBelow(inner, below(path, key), { required: true, default: undefined }),
    );
  if (schema instanceof z.ZodMiniRecord)
    return settingsBelow(schema._zod.def.valueType, below(path, '*'), presence);
  return [{ path, ...presence, allowed: allowedBy(schema) }];
}

function below(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** The allowed values, from the message about a missing value. */
function allowedBy(schema: z.core.$ZodType): string {
  return z.safeParse(schema, undefined).error?.issues[0]?.message ?? 'anything';
}
