import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { featureFlags } from '../../infra/feature-flags.ts';
import { reports } from '../../shared/reports/index.ts';
import { SETTINGS_FILE, settingsOfText, settingsText } from '../../shared/settings/settings-file.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ACME, stackOf } from './stack.ts';

const one = { brands: { acme: ACME } };
const other = { brands: { acme: ACME, globex: { ...ACME, secretName: 'brand-reports/globex' } } };

/** The resources of a stack with bundles, and the folder of the app. */
function synthesised(app: App, name: string, settings: object) {
  const { Resources } = Template.fromStack(stackOf(settings, { app, name })).toJSON();
  return { Resources, folder: app.outdir };
}

const appWithBundles = () => new App({ context: featureFlags() });

function keysIn(resources: Record<string, { Type: string; Properties: { Code?: { S3Key: string } } }>) {
  return Object.values(resources).flatMap(({ Type, Properties }) =>
    Type === 'AWS::Lambda::Function' ? [Properties.Code?.S3Key ?? ''] : [],
  );
}

describe('the settings in the code of the functions', () => {
  it('are checked settings with their defaults, beside the code of each function', () => {
    const { Resources, folder } = synthesised(appWithBundles(), 'BrandReports', one);
    const keys = keysIn(Resources);
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      const asset = join(folder, `asset.${key.replace('.zip', '')}`);
      expect(readdirSync(asset)).toEqual(expect.arrayContaining(['main.js', SETTINGS_FILE]));
      const settings = settingsOfText(readFileSync(join(asset, SETTINGS_FILE), 'utf8'));
      expect(settings).toEqual(parseSettings(one, reports));
    }
  });

  it('are all that a changed brand changes in a template, so that CloudFormation rolls them back with it', () => {
    const [before, same, after] = [one, one, other].map(
      (settings) => synthesised(appWithBundles(), 'BrandReports', settings).Resources,
    );
    expect(same).toEqual(before);
    const changed = Object.keys(before).filter(
      (id) => JSON.stringify(before[id]) !== JSON.stringify(after[id]),
    );
    expect(Object.keys(after)).toEqual(Object.keys(before));
    expect(changed.map((id) => before[id].Type)).toEqual(['AWS::Lambda::Function', 'AWS::Lambda::Function']);
  });

  it('belong to each instance of one app', () => {
    const app = appWithBundles();
    const stacks = [stackOf(one, { app }), stackOf(other, { app, name: 'BrandReports-two' })];
    const keys = stacks.flatMap((stack) => keysIn(Template.fromStack(stack).toJSON().Resources));
    expect(new Set(keys).size).toBe(4);
  });

  it('of 300 brands with all reports, each with fields of its own, take at most 150 kB in the zip', () => {
    const own = (index: number) =>
      Object.keys(reports).map((name) => {
        const fields = { amount: `amount_${hash('md5', `${name} ${index}`)}` };
        return [name, { enabled: true, fields }];
      });
    const brands = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [
        `a-brand-of-the-agency-${index}`,
        { ...ACME, reports: Object.fromEntries(own(index)) },
      ]),
    );
    const text = settingsText(parseSettings({ brands }, reports));
    expect(deflateRawSync(text).length).toBeLessThan(150_000);
  });
});

it.each(['', '{', '[]', '{"brands":{}}', '{"brands":[],"deployment":{}}'])(
  '%j is no file of settings',
  (text) => {
    expect(() => settingsOfText(text)).toThrow();
  },
);
