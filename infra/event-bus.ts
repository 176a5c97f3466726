import { EventBus as ExistingBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import { EVENT_SOURCE } from '../shared/adapters/aws/event-bridge.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { type Grantee, allow, arnInStack } from './grants.ts';

/**
 * The bus of events, which the stack does not own. A bus given by its name is in this account and region. Events are
 * always sent: without a rule they start nothing, and a million cost 1 USD.
 */
export class EventBus {
  readonly environment: { EVENT_BUS_ARN: string };

  readonly #bus: string | undefined;

  constructor(scope: Construct, { bus }: Settings['events']) {
    this.#bus = bus;
    const name = bus ?? 'default';
    const arn = name.startsWith('arn:') ? name : arnInStack(scope, 'events', `event-bus/${name}`);
    this.environment = { EVENT_BUS_ARN: arn };
  }

  /** The bus, for a rule on it; `undefined` means the default bus. */
  existing(scope: Construct, id: string): IEventBus | undefined {
    return this.#bus === undefined
      ? undefined
      : ExistingBus.fromEventBusName(scope, id, this.#bus.replace(/^arn:.*:event-bus\//, ''));
  }

  grantSend(grantee: Grantee): void {
    const { EVENT_BUS_ARN: arn } = this.environment;
    allow(grantee, ['events:PutEvents'], [arn], { StringEquals: { 'events:source': EVENT_SOURCE } });
    if (!arn.endsWith(':event-bus/default')) allow(grantee, ['events:DescribeEventBus'], [arn]);
  }
}
