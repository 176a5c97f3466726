import { describe, expect, it } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { reports } from '../../shared/reports/index.ts';
import { resolve } from '../iam/template.ts';
import { ACME, keysIn, stackOf } from './stack.ts';

const BRANDS = 300;

/** The longest allowed name. */
const NAME = 'BrandReports-of-the-agency-in-production'.slice(0, 38);

/** The largest stack that the docs promise. */
function stackWith(count: number): Template {
  const names = Array.from({ length: count }, (_, index) => `a-brand-of-the-agency-${index + 1}`);
  const all = Object.fromEntries(Object.keys(reports).map((name) => [name, { enabled: true }]));
  const brands = names.map((name) => [name, { ...ACME, reports: all }]);
  const deployment = { brandRoles: ['BrandTeams'] };
  const settings = { brands: Object.fromEntries(brands), deployment };
  return Template.fromStack(stackOf(settings, { name: NAME, props: keysIn }));
}

function withoutCode(template: Template): unknown {
  return JSON.parse(
    JSON.stringify(template.toJSON(), (key, value: unknown) => (key === 'Code' ? null : value)),
  );
}

const policySchema = z.object({
  PolicyDocument: z.unknown(),
  Roles: z.optional(z.array(z.union([z.string(), z.object({ Ref: z.string() })]))),
});

describe(`a stack of ${BRANDS} brands with all reports stays below the limits of AWS`, () => {
  const template = stackWith(BRANDS);
  const { Resources, Outputs } = z.parse(
    z.object({ Resources: z.record(z.string(), z.unknown()), Outputs: z.record(z.string(), z.unknown()) }),
    template.toJSON(),
  );
  const policiesOf = (type: string) =>
    Object.values(template.findResources(type)).map(({ Properties }) => z.parse(policySchema, Properties));
  /** As IAM counts it, without white space. Tokens of ARNs and names are resolved, or as long as they can become. */
  const sizeOf = (document: unknown) =>
    JSON.stringify(
      resolve(document, {
        'AWS::Partition': 'aws',
        'AWS::Region': 'ap-southeast-2',
        'AWS::AccountId': '123456789012',
        'AWS::URLSuffix': 'amazonaws.com',
      }),
    )
      .replaceAll(/<(\w+)\.Arn>/g, `arn:aws:lambda:ap-southeast-2:123456789012:function:<$1>`)
      .replaceAll(/<(\w+)>/g, `${NAME}-$1-AbCdEfGhIjKl`).length;

  it('of resources, outputs and the size of a template', () => {
    // The settings in the code of the functions differ, and nothing else.
    expect(withoutCode(stackWith(1))).toEqual(withoutCode(template));
    expect(Object.keys(Resources).length).toBeLessThanOrEqual(500);
    expect(Object.keys(Outputs).length).toBeLessThanOrEqual(200);
    expect(JSON.stringify(template.toJSON(), undefined, 1).length).toBeLessThan(1_000_000);
  });

  it('of the inline policies of a role together, and of each managed policy', () => {
    const inline = policiesOf('AWS::IAM::Policy').flatMap(({ Roles = [], PolicyDocument }) =>
      Roles.map((role) => ({ role: JSON.stringify(role), size: sizeOf(PolicyDocument) })),
    );
    for (const [role, own] of Map.groupBy(inline, (each) => each.role)) {
      const size = own.reduce((sum, each) => sum + each.size, 0);
      expect({ role, fits: size <= 10_240, size }).toMatchObject({ fits: true });
    }
    const managed = Object.entries(template.findResources('AWS::IAM::ManagedPolicy'));
    for (const [id, { Properties }] of managed) {
      const size = sizeOf(z.parse(policySchema, Properties).PolicyDocument);
      expect({ id, fits: size <= 6_144, size }).toMatchObject({ fits: true });
    }
  });
});
