import { EventBus as ExistingBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import { EVENT_SOURCE } from '../shared/adapters/aws/event-bridge.ts';
import { BrandReportsError } from '../shared/errors.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { type Grantee, allow, arnInStack } from './grants.ts';

/** The bus of events, which the stack does not own. A bus given by its name is in this account and region. */
export class EventBus {
  /** The variable by which a function finds the bus; empty if the settings turn events off. */
  readonly environment: { EVENT_BUS_ARN?: string };

  readonly #settings: Settings['events'];

  constructor(scope: Construct, settings: Settings['events']) {
    const { enabled, bus: name = 'default' } = settings;
    this.#settings = settings;
    const arn = name.startsWith('arn:') ? name : arnInStack(scope, 'events', `event-bus/${name}`);
    this.environment = enabled ? { EVENT_BUS_ARN: arn } : {};
  }

  /**
   * The bus, for a rule on it; `undefined` means the default bus.
   * @throws BrandReportsError `config` if the settings turn events off
   */
  existing(scope: Construct, id: string): IEventBus | undefined {
    const { enabled, bus } = this.#settings;
    if (!enabled)
      throw new BrandReportsError(
        'config',
        'events_off',
        'events.enabled is false, so no rule would ever start: remove the rule, or set events.enabled to true.',
      );
    return bus === undefined
      ? bus
      : ExistingBus.fromEventBusName(scope, id, bus.replace(/^arn:.*:event-bus\//, ''));
  }

  /** Lets a function send events of this program, and check that a bus with its own name exists. */
  grantSend(grantee: Grantee): void {
    const { EVENT_BUS_ARN: arn } = this.environment;
    if (arn === undefined) return;
    allow(grantee, ['events:PutEvents'], [arn], { StringEquals: { 'events:source': EVENT_SOURCE } });
    if (!arn.endsWith(':event-bus/default')) allow(grantee, ['events:DescribeEventBus'], [arn]);
  }
}
