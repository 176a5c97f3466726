import { expect, it } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { parseTemplate } from '../iam/template.ts';
import { stackOf } from '../infra/stack.ts';
import { blocksOf, textOf } from './pages.ts';

const PAGE = 'docs/tutorial/first-deployment.md';
const RESOURCES = 'docs/reference/resources.md';
const [settings] = blocksOf(PAGE, 'json');
const input = z.parse(z.looseObject({ brands: z.unknown() }), JSON.parse(settings?.text ?? ''));
const json: unknown = Template.fromStack(stackOf({ catalogs: ['hive'], ...input })).toJSON();

it(`${RESOURCES} has a line for each resource of the settings in ${PAGE}`, () => {
  const { Resources } = parseTemplate(JSON.stringify(json));
  const rows = textOf(RESOURCES).matchAll(/^\| `(\w+)` \| `([\w:]+)` \| .+ \|$/gm);
  expect([...rows].map(([, id, type]) => `${id} ${type}`)).toEqual(
    Object.entries(Resources).map(([id, { Type }]) => `${id.replace(/[0-9A-F]{8}$/, '')} ${Type}`),
  );
});

it('the stack of one brand has at most 50 resources and 130 kB', () => {
  expect(Object.keys(parseTemplate(JSON.stringify(json)).Resources).length).toBeLessThanOrEqual(50);
  expect(JSON.stringify(json, undefined, 1).length).toBeLessThanOrEqual(130_000);
});
