import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { featureFlags } from '../../infra/feature-flags.ts';

const recommended = new URL('../../node_modules/aws-cdk-lib/recommended-feature-flags.json', import.meta.url);

it('cdk.json sets exactly the feature flags that the installed CDK recommends', () => {
  expect(featureFlags()).toEqual(JSON.parse(readFileSync(recommended, 'utf8')));
});
