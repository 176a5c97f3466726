/**
 * Measures the floor, the cost of the requests alone: Node's fetch and JSON.parse, a signed request a page, nothing
 * stored. It reads as many days at the same time as ours. `node floor.ts URL FIRST-DAY DAYS IN-FLIGHT`
 */
import * as z from 'zod/mini';
import { addDays } from '../../shared/base/days.ts';
import { signedHeaders } from '../../shared/service/request.ts';
import { ACTION, CREDENTIALS, SERVICE_NAME } from './service-messages.ts';

const [baseUrl = '', firstDay = '', days = '', inFlight = ''] = process.argv.slice(2);
const { bid, token } = CREDENTIALS;
const url = `${baseUrl}?bid=${bid}&token=${token}&action=${ACTION}&version=1.0`;
const envelopeSchema = z.object({ data: z.object({ cursor: z.nullable(z.string()) }) });

async function readDay(day: string): Promise<void> {
  const date = day.replaceAll('-', '');
  let cursor: string | null = null;
  do {
    const response: Response = await fetch(url, {
      method: 'POST',
      headers: signedHeaders(SERVICE_NAME, ACTION, CREDENTIALS, new Date().toUTCString()),
      body: JSON.stringify({
        limit: 200,
        start_date: date,
        end_date: date,
        ...(cursor !== null && { cursor }),
      }),
    });
    const envelope: unknown = JSON.parse(await response.text());
    cursor = z.parse(envelopeSchema, envelope).data.cursor;
  } while (cursor !== null);
}

const left = Array.from({ length: Number(days) }, (_, day) => addDays(firstDay, day));
async function worker(): Promise<void> {
  for (let day = left.shift(); day !== undefined; day = left.shift()) await readDay(day);
}
await Promise.all(Array.from({ length: Number(inFlight) }, worker));
