import type { ReportDefinition } from './definition.ts';
import { clickChannels } from './views/history.ts';

export const clicks: ReportDefinition = {
  name: 'clicks_list',
  action: 'report/clicks_list',
  table: 'clicks',
  description: 'Every click on a link of a publisher',
  section: '4.1',
  enabledByDefault: true,
  paging: { style: 'position', pageSize: { field: 'page_size', min: 20, max: 100, default: 100 } },
  day: { by: 'created', field: 'created_time' },
  openDay: 'slices',
  primaryKey: { field: 'id', always: true },
  filters: {
    publisher_id: { kind: 'text' },
    channel_id: { kind: 'text' },
  },
  columns: [
    { field: 'id', type: 'string', meaning: 'identifies the click' },
    { field: 'pbtid', type: 'string', meaning: "tracking flag of the landing page's address" },
    { field: 'publisher_id', type: 'string', meaning: 'the publisher' },
    { field: 'channel_id', type: 'string', meaning: 'the channel' },
    { field: 'created_time', type: 'timestamp', meaning: 'HTTP-date in GMT' },
  ],
  refresh: [{ untilAgeDays: 2, every: '1 day' }],
  views: [clickChannels],
};
