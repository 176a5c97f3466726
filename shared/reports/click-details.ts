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
};
