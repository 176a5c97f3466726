import { expect, it } from '@jest/globals';
import { consoleUrl, objectPage, testPage } from '../../../shared/adapters/aws/console-url.ts';

it.each([
  ['eu-central-1', 'eu-central-1.console.aws.amazon.com'],
  ['cn-north-1', 'cn-north-1.console.amazonaws.cn'],
  ['us-gov-west-1', 'us-gov-west-1.console.amazonaws-us-gov.com'],
  ['us-west-1', 'us-west-1.console.aws.amazon.com'],
  ['eusc-de-east-1', 'eusc-de-east-1.console.amazonaws-eusc.eu'],
])('links of %s lead to the console of its partition', (region, host) => {
  expect(consoleUrl(region, 'lambda', testPage('x'))).toBe(
    `https://${host}/lambda/home?region=${region}#/functions/x?tab=testing`,
  );
  expect(objectPage(region, 'lake', 'a/b')).toBe(
    `https://${host}/s3/object/lake?region=${region}&prefix=a/b`,
  );
});
