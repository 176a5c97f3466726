import * as z from 'zod/mini';

const resourceSchema = z.object({
  Type: z.string(),
  Properties: z.optional(z.record(z.string(), z.unknown())),
});
const templateSchema = z.object({ Resources: z.record(z.string(), resourceSchema) });

export type Template = z.infer<typeof templateSchema>;
type Resource = z.infer<typeof resourceSchema>;

/** @throws Error if the JSON is not a template */
export function parseTemplate(json: string): Template {
  return z.parse(templateSchema, JSON.parse(json));
}

export function resourcesOf(
  template: Template,
  type: string,
): [id: string, Properties: NonNullable<Resource['Properties']>][] {
  return Object.entries(template.Resources).flatMap(([id, { Type, Properties = {} }]) =>
    Type === type ? [[id, Properties]] : [],
  );
}

/** The values of `Ref`, by logical id or pseudo parameter, and of `Fn::GetAtt`, by `<id>.<attribute>`. */
export type Values = Readonly<Record<string, string>>;

/** The pseudo parameters of a stack in an account and region. */
export const PSEUDO_PARAMETERS: Values = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'us-east-1',
  'AWS::AccountId': '123456789012',
  'AWS::URLSuffix': 'amazonaws.com',
};

/**
 * Resolves the intrinsic functions in a part of a template. A missing value becomes a text that names it, which is not
 * a valid ARN.
 * @throws Error for an unsupported function
 */
export function resolve(part: unknown, values: Values): unknown {
  const inner = (each: unknown) => resolve(each, values);
  if (Array.isArray(part)) return part.map(inner);
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part);
  const [[name, given] = ['']] = entries;
  if (entries.length !== 1 || !/^(Ref|Fn::.*)$/.test(name))
    return Object.fromEntries(entries.map(([key, value]) => [key, inner(value)]));
  const { [name]: work } = functions;
  if (!work) throw new Error(`${name} is unknown; known: ${Object.keys(functions).join(', ')}`);
  return work(inner(given), (key) => values[key] ?? `<${key}>`);
}

const texts = z.array(z.string());

const functions: Readonly<Record<string, (given: unknown, look: (key: string) => string) => unknown>> = {
  Ref: (given, look) => look(z.parse(z.string(), given)),
  'Fn::GetAtt': (given, look) => look(z.parse(texts, given).join('.')),
  'Fn::Sub': (given, look) =>
    z.parse(z.string(), given).replaceAll(/\$\{([^}]+)\}/g, (_match, key: string) => look(key)),
  'Fn::Join': (given) => {
    const [separator, parts] = z.parse(z.tuple([z.string(), texts]), given);
    return parts.join(separator);
  },
  'Fn::Split': (given) => {
    const [separator, text] = z.parse(z.tuple([z.string(), z.string()]), given);
    return text.split(separator);
  },
  'Fn::Select': (given) => {
    const [index, parts] = z.parse(z.tuple([z.coerce.number(), texts]), given);
    return parts[index] ?? `<no part ${index}>`;
  },
};
