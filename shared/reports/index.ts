import { attribution } from './attribution.ts';
import { clickDetails } from './click-details.ts';
import { clicks } from './clicks.ts';
import type { ReportDefinition, ReportRegistry } from './definition.ts';
import { orders } from './orders.ts';
import { transactions } from './transactions.ts';

const definitions: readonly ReportDefinition[] = [clicks, clickDetails, orders, transactions, attribution];

/** Every report by its name; settings, permissions and tables derive from it, in this order. */
export const reports: ReportRegistry = Object.fromEntries(definitions.map((report) => [report.name, report]));
