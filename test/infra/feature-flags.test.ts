import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { featureFlags } from '../../infra/feature-flags.ts';

const recommended = new URL('../../node_modules/aws-cdk-lib/recommended-feature-flags.json', import.meta.url);

it('cdk.json sets every feature flag that the installed CDK recommends, as it recommends, and no other', () => {
  expect(featureFlags()).toEqual(JSON.parse(readFileSync(recommended, 'utf8')));
});
