import type { Settings } from '../shared/settings/settings.ts';
import type { Catalog } from './catalog.ts';
import type { EventBus } from './event-bus.ts';
import type { Lake } from './lake.ts';
import type { Network } from './network.ts';

/** The parts of a deployment that all its functions share. */
export interface PipelineParts {
  settings: Settings;
  network?: Network;
  lake: Lake;
  catalog: Catalog;
  /** The bus that receives events. */
  bus: EventBus;
}
