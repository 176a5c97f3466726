import type { Settings } from '../shared/settings/settings.ts';
import type { Catalog } from './catalog.ts';
import type { EventBus } from './event-bus.ts';
import type { FailureQueue } from './failure-queue.ts';
import type { Lake } from './lake.ts';
import type { Network } from './network.ts';

/** The parts of a deployment that both functions share. */
export interface PipelineParts {
  settings: Settings;
  /** The version of the program. */
  version: string;
  network?: Network;
  lake: Lake;
  catalog: Catalog;
  /** The bus that receives events. */
  bus: EventBus;
}

/** The queues of a function that a schedule starts. */
export interface StartedFunctionProps {
  /** Receives events that the schedule could not deliver. */
  undelivered: FailureQueue;
  /** Receives events that the function failed on. */
  failed: FailureQueue;
}
