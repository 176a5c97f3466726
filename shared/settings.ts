import type { ColumnType } from './lake/columns.ts';
import type { RefreshTier } from './reports/definition.ts';

export interface Settings {
  brands: Record<string, BrandSettings>;
  /** Per brand, shared among its reports. */
  requestsPerSecond: number;
  pagesInFlight: number;
}

export interface BrandSettings {
  baseUrl: string;
  service: string;
  timeZone: string;
  startDate: string;
  secretName: string;
  method: 'POST' | 'GET';
  timestampUnit: 'seconds' | 'milliseconds';
  firstPage: number;
  endTime: 'auto' | 'inclusive' | 'exclusive';
  endDate: 'whole_day' | 'midnight';
  lateMinutes: number;
  resumeWithinHours: number;
  timeoutSeconds: number;
  /** Every report of the registry, in its order, with defaults filled in. */
  reports: Record<string, ReportSettings>;
}

export interface ReportSettings {
  enabled: boolean;
  schedule: string;
  filters: Record<string, string | number>;
  /** By column name: the type it gets if no commit has fixed it yet. */
  columns: Record<string, ColumnType>;
  refresh: RefreshTier[];
  /** Records asked for per page: `page_size` or `limit` of the report's settings. */
  pageSize: number;
  /** Orders: the field that tells records apart, where it is not `transid`. */
  key?: string;
}
