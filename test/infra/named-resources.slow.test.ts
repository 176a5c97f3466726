import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { ACME, stackOf } from './stack.ts';

/**
 * Lists the fixed values of resources with a fixed name. CloudFormation cannot replace such a resource: an update fails
 * if it changes a property that can only be set at creation. The name may be among these properties, because another
 * name is another resource. Every other value must never change: a release that changes it cannot be deployed over this
 * one.
 */
const KEPT: Readonly<Record<string, readonly unknown[]>> = {
  'AWS::Athena::WorkGroup': [{}],
  'AWS::CloudWatch::Alarm': [{}],
  'AWS::Glue::Database': [{ CatalogId: { Ref: 'AWS::AccountId' } }],
  'AWS::IAM::ManagedPolicy': [
    { Description: 'Query the affiliate reports of BrandReports in Athena', Path: '/' },
    { Description: 'Run the pipeline BrandReports from the console', Path: '/' },
    {
      Description:
        'Query the affiliate reports of the brand in the tag "brand" in the workgroup BrandReports.brands',
      Path: '/',
    },
  ],
  'AWS::Lambda::Function': [{}],
  'AWS::Logs::LogGroup': [{}],
  'AWS::StepFunctions::StateMachine': [{}],
};

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()) }),
  ),
});
const entitySchema = z.object({
  cloudFormationType: z.string(),
  properties: z.record(z.string(), z.looseObject({ causesReplacement: z.optional(z.string()) })),
});
/** Only the used parts of a document of 16 MB are checked. */
const databaseSchema = z.object({
  schema: z.object({
    resource: z.object({ entities: z.array(z.looseObject({ cloudFormationType: z.string() })) }),
  }),
});

/** The properties that CloudFormation sets at creation only, by type, from the CDK command's description of AWS. */
function createOnly(types: ReadonlySet<string>): Map<string, string[]> {
  const folder = dirname(createRequire(import.meta.url).resolve('aws-cdk/package.json'));
  const text = gunzipSync(readFileSync(join(folder, 'db.json.gz'))).toString();
  const { schema } = z.parse(databaseSchema, JSON.parse(text));
  return new Map(
    schema.resource.entities
      .filter(({ cloudFormationType }) => types.has(cloudFormationType))
      .map((entity) => {
        const { cloudFormationType, properties } = z.parse(entitySchema, entity);
        return [
          cloudFormationType,
          Object.keys(properties).filter((name) => properties[name]?.causesReplacement === 'yes'),
        ];
      }),
  );
}

it('a resource with a fixed name has no property that a release could not change', () => {
  const deployment = { alarmEmail: 'ops@example.com', brandRoles: ['AcmeTeam'] };
  const settings = { brands: { acme: ACME }, deployment };
  const { Resources } = z.parse(templateSchema, Template.fromStack(stackOf(settings)).toJSON());
  const properties = createOnly(new Set(Object.values(Resources).map(({ Type }) => Type)));
  const found = new Map<string, Set<string>>();
  for (const { Type, Properties } of Object.values(Resources)) {
    const only = (properties.get(Type) ?? []).filter((name) => name in Properties);
    const nameOfType = new RegExp(`^(${Type.split('::').at(-1)})?Name$`);
    // A saved query has an id: a query that replaces another may have the same name.
    const names = Type === 'AWS::Athena::NamedQuery' ? [] : only.filter((name) => nameOfType.test(name));
    const isNamed = names.length > 0 || Type === 'AWS::Glue::Database';
    if (!isNamed) continue;
    const kept = only.filter((name) => !names.includes(name)).map((name) => [name, Properties[name]]);
    found.set(Type, (found.get(Type) ?? new Set()).add(JSON.stringify(Object.fromEntries(kept))));
  }
  const values = [...found].map(([type, kept]) => [type, [...kept].map((json): unknown => JSON.parse(json))]);
  expect(Object.fromEntries(values)).toEqual(KEPT);
});
