import { clicks } from './clicks.ts';
import type { ReportDefinition } from './definition.ts';

export const clickDetails: ReportDefinition = {
  name: 'clicks_detail',
  action: 'report/clicks_detail',
  table: 'click_details',
  description: 'The detail of each click of the day, one call per click',
  section: '4.2',
  enabledByDefault: false,
  paging: {
    style: 'lookup',
    lookup: {
      key: { column: 'id', field: 'id' },
      optional: [{ column: 'pbtid', field: 'pbtid' }],
      answerField: 'id',
    },
  },
  day: { by: 'upstream', report: clicks.name },
  openDay: 'slices',
  primaryKey: undefined,
  filters: {},
  columns: [{ field: 'id', type: 'string', meaning: 'identifies the click' }],
  refresh: clicks.refresh,
  views: [],
  checks: [
    {
      name: 'clicks_without_detail',
      counts: 'clicks without a detail that the service did not refuse',
      advice: 'Ask the service for one of them by hand. If it has the detail, read the day again by its date',
      rule: 'found_in',
      values: { report: clicks.name, column: 'id' },
      places: { report: 'clicks_detail', columns: ['id'], daysAround: 0 },
      isAssumed: false,
    },
  ],
};
