import * as z from 'zod/mini';
import { resolve, resourcesOf, type Template, type Values } from './template.ts';

/** The facts of a request: `s3:GetObject`, an ARN, and condition keys such as `aws:SecureTransport`. */
export type Allows = (
  action: string,
  resource: string,
  context?: Readonly<Record<string, string>>,
) => boolean;

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
const tagsSchema = z.object({ Tags: z.optional(z.array(z.object({ Key: z.string(), Value: z.string() }))) });
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

/** The tags of a role, by the condition keys with which policies check them. */
export function tagsOfRole(template: Template, role: string): Record<string, string> {
  const { Tags = [] } = z.parse(tagsSchema, template.Resources[role]?.Properties);
  return Object.fromEntries(Tags.map(({ Key, Value }) => [`aws:PrincipalTag/${Key}`, Value]));
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
      .filter((name) => name !== 'Null' && name !== 'StringNotEquals')
      .map(operatorOf);
  return (action, resource, context = {}) => {
    const effects = statements
      .filter(
        (statement) =>
          statement.Action.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
          statement.Resource.some((pattern) => matches(pattern, resource)) &&
          meets(statement, context),
      )
      .map(({ Effect }) => Effect);
    return effects.includes('Allow') && !effects.includes('Deny');
  };
}

function meets({ Condition = {} }: Statement, context: Readonly<Record<string, string>>): boolean {
  return Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, allowed]) => {
      const { [key]: value } = context;
      // IAM: a condition that requires a mismatch is met if the key is missing, and all of its values must mismatch.
      if (operator === 'StringNotEquals') return !allowed.some((pattern) => pattern === value);
      if (operator === 'Null') return allowed.includes(String(value === undefined));
      return value !== undefined && allowed.some((pattern) => operatorOf(operator)(pattern, value));
    }),
  );
}

/** Compare the value in a policy with the value in the request. `Null` needs no comparison: see `meets`. */
const operators: Readonly<Record<string, (pattern: string, value: string) => boolean>> = {
  StringEquals: (pattern, value) => pattern === value,
  StringLike: matches,
  ArnLike: matches,
  Bool: (pattern, value) => pattern === value,
  NumericLessThan: (pattern, value) => Number(value) < Number(pattern),
};

function operatorOf(name: string) {
  const operator = operators[name];
  if (operator) return operator;
  throw new Error(`The condition ${name} is unknown; known: ${Object.keys(operators).join(', ')}`);
}

/** `*` matches any characters, `?` one character. */
function matches(pattern: string, text: string): boolean {
  const wildcards: Record<string, string> = { '*': '.*', '?': '.' };
  const expression = pattern.replaceAll(/\W/g, (sign) => wildcards[sign] ?? `\\${sign}`);
  return new RegExp(`^${expression}$`, 's').test(text);
}
