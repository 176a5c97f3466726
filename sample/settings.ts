import type { JsonObject } from '../shared/base/json.ts';
import type { SampleBrand } from './brand.ts';
import { dayOf } from './calendar.ts';
import type { SampleService } from './server.ts';

const DAYS_BEFORE_TODAY = 10;

/** Settings, as in a settings file, that sync every report of the running service. */
export function sampleSettings(service: SampleService): JsonObject {
  const start = service.now().getTime() - DAYS_BEFORE_TODAY * 24 * 3_600_000;
  const { timestampUnit, firstPage, endDate } = service.interpretations;
  return {
    brands: eachBrand(service, ({ name, baseUrl, timeZone }) => ({
      baseUrl,
      service: service.serviceName,
      timeZone,
      startDate: dayOf(start, timeZone),
      secretName: `brand-reports/${name}`,
      timestampUnit,
      firstPage,
      endDate: endDate === 'whole_day' ? 'whole_day' : 'midnight',
      reports: { clicks_detail: { enabled: true } },
    })),
    requestsPerSecond: 1000,
  };
}

/** The credentials of its brands, as in a file of `--credentials FILE`. */
export function sampleCredentials(service: SampleService): JsonObject {
  return eachBrand(service, ({ bid, token, secret, baseUrl }) => ({ bid, token, secret, baseUrl }));
}

function eachBrand(service: SampleService, describe: (brand: SampleBrand) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(service.brands).map(([name, brand]) => [name, describe(brand)]));
}
