import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type ReportName, type SampleBrand, restate } from '../../sample/brand.ts';
import { type SampleOptions, type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials } from '../../sample/settings.ts';
import { addDays, dayOf, endOfDay } from '../../shared/base/days.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const ZONE = 'America/New_York';
/** A test that begins in a day's last seconds would continue in the next day. */
const LAST_MS = 30_000;

/** A sample service with the brand acme, and a folder with the settings and credentials to sync it. */
export interface SampleBrandForCli {
  service: SampleService;
  acme: SampleBrand;
  /**
   * Changes the records of a day.
   * @param fields the changed fields of a record; `undefined` removes the record
   */
  alter(report: ReportName, day: string, fields: (index: number) => object | undefined): void;
  folder: string;
  lake: string;
  /** `startDate` of the settings, and the open day. */
  firstDay: string;
  today: string;
  /** `--settings … --credentials … --lake …` */
  flags: string[];
  /** Writes another settings file: the first settings with these changes. */
  writeSettings(name: string, changes: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export async function serveSampleBrand({
  daysBefore = 2,
  ...options
}: SampleOptions & { daysBefore?: number } = {}): Promise<SampleBrandForCli> {
  const temporary = await temporaryFolder();
  const folder = temporary.path;
  const leftMs = endOfDay(dayOf(Date.now(), ZONE), ZONE) - Date.now();
  if (leftMs < LAST_MS) await setTimeout(leftMs);
  const service = await startSampleService(options);
  const { acme } = service.brands;
  if (!acme) throw new Error('the sample service has no brand acme');
  const alter: SampleBrandForCli['alter'] = (report, day, fields) =>
    restate(acme, report, day, (held) =>
      held.flatMap(({ at, record }, index) => {
        const changed = fields(index);
        return changed ? [{ at, record: { ...record, ...changed } }] : [];
      }),
    );
  const today = dayOf(Date.now(), ZONE);
  const firstDay = addDays(today, -daysBefore);
  const base = {
    brands: {
      acme: {
        baseUrl: `${service.url}/api/acme`,
        service: service.serviceName,
        timeZone: ZONE,
        // Yesterday is complete at any hour, even in the first minutes after midnight.
        lateMinutes: 0,
        startDate: firstDay,
        secretName: 'brand-reports/acme',
      },
    },
    requestsPerSecond: 1000,
  };
  const writeSettings = async (name: string, changes: Record<string, unknown>) => {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify({ ...base, ...changes }));
    return path;
  };
  const settings = await writeSettings('settings.json', {});
  const credentials = join(folder, 'credentials.json');
  await writeFile(credentials, JSON.stringify(sampleCredentials(service)), { mode: 0o600 });
  const lake = join(folder, 'lake');
  return {
    ...{ service, acme, alter },
    folder,
    lake,
    firstDay,
    today,
    flags: ['--settings', settings, '--credentials', credentials, '--lake', lake],
    writeSettings,
    async close() {
      await service.close();
      await temporary.remove();
    },
  };
}
