import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { App, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import * as z from 'zod/mini';
import { ACME, stackOf } from './stack.ts';

const reportSchema = z.object({
  pluginReports: z.array(
    z.object({
      violations: z.array(
        z.object({
          ruleName: z.string(),
          violatingConstructs: z.array(z.object({ constructPath: z.string() })),
        }),
      ),
    }),
  ),
});

const folder = mkdtempSync(join(tmpdir(), 'brand-reports-nag-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Findings of the AWS Solutions rules that the code does not acknowledge. */
function findings(
  name: string,
  settings: object,
  spoil?: (stack: ReturnType<typeof stackOf>) => void,
): string[] {
  const outdir = join(folder, name);
  const app = new App({ outdir, context: { 'aws:cdk:bundling-stacks': [] } });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  spoil?.(stackOf(settings, { app }));
  if (!spoil) stackOf(settings, { app });
  try {
    app.synth();
  } catch {
    // The findings are in the report.
  }
  const report = z.parse(
    reportSchema,
    JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')),
  );
  return report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} at ${constructPath}`),
    ),
  );
}

describe('the AWS Solutions rules', () => {
  it.each<[string, object]>([
    ['the sample settings', {}],
    ['every report', { brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } } }],
    ['a lake that is deleted with the stack', { deployment: { keepLake: false, alarmEmail: 'a@b.example' } }],
    ['an adopted bucket and database', { deployment: { adoptBucket: 'a-lake', adoptDatabase: 'lake' } }],
  ])('find nothing unacknowledged in a stack of %s', (name, settings) => {
    expect(findings(name, { brands: { acme: ACME }, ...settings })).toEqual([]);
  });

  it('would find an added bucket', () => {
    const found = findings('spoilt', { brands: { acme: ACME } }, (stack) => new Bucket(stack, 'Another'));
    expect(found).toContainEqual(expect.stringMatching(/AwsSolutions-S\d+.* at BrandReports\/Another/));
  });
});
