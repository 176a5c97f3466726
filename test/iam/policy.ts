import * as z from 'zod/mini';
import { resolve, resourcesOf, type Template, type Values } from './template.ts';

/** The values of condition keys such as `aws:SecureTransport`. */
type Context = Readonly<Record<string, string>>;

/** The facts of a request: `s3:GetObject`, an ARN, and the values of condition keys. */
export type Allows = (action: string, resource: string, context?: Context) => boolean;

const oneOrMore = z.pipe(
  z.union([z.string(), z.array(z.string())]),
  z.transform((given) => [given].flat()),
);

const oneOrMoreOrNumber = z.union([
  z.pipe(
    z.number(),
    z.transform((given) => [String(given)]),
  ),
  oneOrMore,
]);

const statementSchema = z.strictObject({
  Sid: z.optional(z.string()),
  /** In the policy of a resource: everybody, in one of the two ways to write it. */
  Principal: z.optional(z.union([z.literal('*'), z.object({ AWS: z.literal('*') })])),
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore,
  Resource: oneOrMore,
  Condition: z.optional(z.record(z.string(), z.record(z.string(), oneOrMoreOrNumber))),
});
type Statement = z.infer<typeof statementSchema>;

const documentSchema = z.object({ Statement: z.array(statementSchema) });
const attachedSchema = z.object({ Roles: z.optional(z.array(z.string())), PolicyDocument: documentSchema });
const managedSchema = z.object({ ManagedPolicyName: z.optional(z.string()), PolicyDocument: documentSchema });
const roleSchema = z.object({
  ManagedPolicyArns: z.optional(z.array(z.never('policies of AWS are not known here'))),
  Policies: z.optional(z.array(z.object({ PolicyDocument: documentSchema }))),
});

/**
 * The rights that the policies of a role in a template give.
 * @throws Error for a policy with an unsupported part, so that nothing is allowed by mistake
 */
export function policyOfRole(template: Template, role: string, values: Values): Allows {
  return policyOf(statementsOfRole(template, role, values));
}

/** The rights that a managed policy gives the principals that it is attached to, by its name. */
export function policyNamed(template: Template, name: string, values: Values): Allows {
  const named = resourcesOf(template, 'AWS::IAM::ManagedPolicy')
    .map(([, properties]) => z.parse(managedSchema, resolve(properties, values)))
    .filter(({ ManagedPolicyName }) => ManagedPolicyName === name);
  if (named.length !== 1) throw new Error(`the template has ${named.length} policies named ${name}`);
  return policyOf(named.flatMap(({ PolicyDocument }) => PolicyDocument.Statement));
}

/** An action on a resource, as in a policy or as in a call. */
export interface Permission {
  action: string;
  resource: string;
}

export function permissionsOfRole(template: Template, role: string, values: Values): Permission[] {
  const statements = z.parse(z.array(statementSchema), statementsOfRole(template, role, values));
  return statements
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Action, Resource }) =>
      Action.flatMap((action) => Resource.map((resource) => ({ action, resource }))),
    );
}

export function covers(permission: Permission, call: Permission): boolean {
  return (
    matches(permission.action.toLowerCase(), call.action.toLowerCase()) &&
    matches(permission.resource, call.resource)
  );
}

/** Whether the policies of the buckets in a template, which only deny, permit what the principal's own role allows. */
export function policyOfBuckets(template: Template, values: Values): Allows {
  const policies = resourcesOf(template, 'AWS::S3::BucketPolicy').map(([, properties]) =>
    z.parse(attachedSchema, resolve(properties, values)),
  );
  const statements = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
  return policyOf([{ Effect: 'Allow', Action: '*', Resource: '*' }, ...statements]);
}

function statementsOfRole(template: Template, role: string, values: Values): Statement[] {
  const named = { ...values, [role]: role };
  const { [role]: { Properties } = {} } = template.Resources;
  const { Policies = [] } = z.parse(roleSchema, resolve(Properties, named));
  const attached = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) =>
    resourcesOf(template, type).map(([, properties]) => z.parse(attachedSchema, resolve(properties, named))),
  );
  const documents = [...Policies, ...attached.filter(({ Roles = [] }) => Roles.includes(role))];
  return documents.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/** @throws Error for a statement with an unsupported part */
export function policyOf(given: readonly unknown[]): Allows {
  const statements = z.parse(z.array(statementSchema), given);
  for (const { Condition = {} } of statements)
    Object.keys(Condition)
      .filter((name) => name !== 'Null')
      .map(operatorOf);
  return (action, resource, context = {}) => {
    const effects = statements
      .filter(
        (statement) =>
          statement.Action.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
          statement.Resource.some((pattern) => matches(pattern, resource, context)) &&
          meets(statement, context),
      )
      .map(({ Effect }) => Effect);
    return effects.includes('Allow') && !effects.includes('Deny');
  };
}

function meets({ Condition = {} }: Statement, context: Context): boolean {
  return Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, allowed]) => {
      const { [key]: value } = context;
      if (operator === 'Null') return allowed.includes(String(value === undefined));
      const isMet = (pattern: string) => value !== undefined && operatorOf(operator)(pattern, value, context);
      // IAM: a condition that requires a mismatch is met if the key is missing, and all of its values must mismatch.
      return operator.startsWith('StringNot') ? !allowed.some(isMet) : allowed.some(isMet);
    }),
  );
}

type Compare = (pattern: string, value: string, context: Context) => boolean;
const isEqual: Compare = (pattern, value) => pattern === value;

/**
 * Compare the value in a policy with the value in the request. `Null` needs no comparison, and an operator with "Not"
 * the same one as without: see `meets`.
 */
const operators: Readonly<Record<string, Compare>> = {
  StringEquals: isEqual,
  StringNotEquals: isEqual,
  StringLike: matches,
  StringNotLike: matches,
  ArnEquals: matches,
  ArnLike: matches,
  Bool: isEqual,
  NumericLessThan: (pattern, value) => Number(value) < Number(pattern),
};

function operatorOf(name: string) {
  const operator = operators[name];
  if (operator) return operator;
  throw new Error(`The condition ${name} is unknown; known: ${Object.keys(operators).join(', ')}`);
}

const WILDCARDS: Readonly<Record<string, string>> = { '*': '.*', '?': '.' };
const expressionOf = (text: string) => text.replaceAll(/\W/g, (sign) => WILDCARDS[sign] ?? `\\${sign}`);

/**
 * `*` matches any characters, `?` one character, and `${*}` the sign itself. A variable without a value matches nothing.
 * Wildcards in a value are wildcards, so a policy that is safe here is safe however IAM reads them.
 */
function matches(pattern: string, text: string, context: Context = {}): boolean {
  const parts = [...pattern.matchAll(/\$\{([^}]+)\}|[^$]+|\$/g)].map(([part, name]) => {
    if (name === undefined) return expressionOf(part);
    if (/^[*?$]$/.test(name)) return `\\${name}`;
    const { [name]: value } = context;
    return value === undefined ? '(?!)' : expressionOf(value);
  });
  return new RegExp(`^${parts.join('')}$`, 's').test(text);
}
