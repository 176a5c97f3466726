import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { settingsReference } from './settings-reference.ts';
import { refunds } from '../fixtures/sixth-report.ts';

const byPath = new Map(settingsReference(reports).map((setting) => [setting.path, setting]));

describe('the settings reference', () => {
  it.each([
    ['brands.*.baseUrl', { required: true, default: undefined }],
    ['requestsPerSecond', { required: false, default: 5, allowed: 'a number above 0, up to 1000' }],
    ['brands.*.firstPage', { required: false, default: 1, allowed: 'a whole number from 0 to 1' }],
    ['brands.*.endDate', { required: false, default: 'whole_day', allowed: 'whole_day, midnight' }],
    [
      'brands.*.reports.order_list.page_size',
      { required: false, default: 100, allowed: 'a whole number from 20 to 100' },
    ],
    [
      'brands.*.reports.transaction_list.limit',
      { required: false, default: 200, allowed: 'a whole number from 1 to 200' },
    ],
    ['brands.*.reports.clicks_list.enabled', { required: false, default: true, allowed: 'true, false' }],
    [
      'brands.*.reports.order_list.filters.status',
      { required: false, default: undefined, allowed: 'new, void, effective' },
    ],
    ['deployment.keepLake', { required: false, default: true, allowed: 'true, false' }],
    ['deployment.alarmEmail', { required: false, default: undefined }],
  ])('has %s with its default and allowed values', (path, expected) => {
    expect(byPath.get(path)).toMatchObject({ path, ...expected });
  });

  it('has only settings that the report has', () => {
    const paths = [...byPath.keys()];
    expect(paths).not.toContain('brands.*.reports.order_list.limit');
    expect(paths).not.toContain('brands.*.reports.clicks_list.key');
    expect(paths).not.toContain('brands.*.reports.clicks_detail.page_size');
  });

  it('has the allowed values of every setting, in our own words', () => {
    for (const { path, allowed } of byPath.values()) {
      expect([path, allowed]).not.toEqual([path, expect.stringMatching(/^anything$|^Invalid/)]);
    }
  });

  it('lists a sixth report from its definition alone', () => {
    const settings = settingsReference({ ...reports, [refunds.name]: refunds });
    expect(settings).toContainEqual({
      path: 'brands.*.reports.refund_list.limit',
      required: false,
      default: 250,
      allowed: 'a whole number from 5 to 500',
    });
  });
});
