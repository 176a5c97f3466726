import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { EVENT_SOURCE } from '../../shared/adapters/aws/event-bridge.ts';
import { featureFlags } from '../../infra/feature-flags.ts';

/** Synthesised by the CDK, which checks the template with the schemas of CloudFormation. */
function included(name: string): Template {
  const stack = new Stack(new App({ context: featureFlags() }), 'Events');
  const templateFile = fileURLToPath(new URL(`../../docs/how-to/${name}`, import.meta.url));
  new CfnInclude(stack, 'Template', { templateFile });
  return Template.fromStack(stack);
}

describe('the templates of docs/how-to/receive-events.md', () => {
  it.each(['events-to-api.yaml', 'events-to-queue.yaml'])(
    '%s is valid, and its rule matches only events of one lake',
    (name) => {
      included(name).hasResourceProperties('AWS::Events::Rule', {
        EventBusName: { Ref: 'Bus' },
        EventPattern: {
          source: [EVENT_SOURCE],
          resources: [{ Ref: 'Lake' }],
          'detail-type': { Ref: 'DetailTypes' },
          detail: { report: { Ref: 'Reports' } },
        },
      });
    },
  );

  it('have a secret only in a parameter that is never shown', () => {
    expect(included('events-to-api.yaml').findParameters('HeaderValue', { NoEcho: true })).not.toEqual({});
  });
});
