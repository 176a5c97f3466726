/**
 * Serves transaction_list of docs/explanation/interface.md for `npm run bench`, in its own process. All pages are
 * prepared as bytes before the first request, so that the service never limits a competitor. It prints nothing, and
 * sends its usage to its parent over IPC. It checks each request's route and digest (5 µs a page). `brand-service.ts`
 * starts it with a `ServicePlan` as its argument.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod/mini';
import { digestOf } from '../../shared/service/request.ts';
import {
  ACTION,
  CREDENTIALS,
  type Fault,
  type FromService,
  SERVICE_NAME,
  dayNumber,
  servicePlanSchema,
  toServiceSchema,
} from './service-messages.ts';
import { listText } from './records.ts';

const plan = z.parse(servicePlanSchema, JSON.parse(process.argv[2] ?? ''));
const pagesPerDay = plan.pages / plan.days;
const prepared = Array.from({ length: plan.pages }, (_, page) =>
  Buffer.from(`{"code":0,"msg":"success","data":{"list":${listText(page, plan)},"cursor":`),
);
const noRecords = Buffer.from('{"code":0,"msg":"success","data":{"list":[],"cursor":');

let fault: Fault = 'none';
let requests = 0;
let firstRequestMs: number | undefined;
let cpuBefore = process.cpuUsage();

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the service has no port');
  tell({ url: `http://127.0.0.1:${address.port}/api` });
});

process.on('message', (message) => {
  const wanted = z.parse(toServiceSchema, message);
  if (wanted.ask === 'begin') {
    fault = wanted.fault;
    requests = 0;
    firstRequestMs = undefined;
    cpuBefore = process.cpuUsage();
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  tell({ requests, cpuMs: (user + system) / 1000, ...(firstRequestMs !== undefined && { firstRequestMs }) });
});
process.on('disconnect', () => process.exit());

function tell(message: FromService): void {
  process.send?.(message);
}

const fieldsSchema = z.object({
  cursor: z.nullish(z.string()),
  start_date: z.string(),
  end_date: z.string(),
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  firstRequestMs ??= performance.timeOrigin + performance.now();
  requests += 1;
  const body = await buffer(request);
  if (!isRouted(request)) return void response.writeHead(404, { 'Content-Length': 0 }).end();
  if (!isSigned(request))
    return send(response, Buffer.from('{"code":1001,"msg":"wrong digest","data":{'), '}}');
  if (plan.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, plan.latencyMs));
  const { cursor, start_date, end_date } = z.parse(fieldsSchema, JSON.parse(body.toString()));
  const end = Math.min(plan.pages, (dayNumber(end_date) + 1) * pagesPerDay);
  const page = cursor ? Number(cursor.slice(1)) : Math.max(0, dayNumber(start_date) * pagesPerDay);
  const list = page < end ? prepared[page] : undefined;
  if (!list) return send(response, noRecords, 'null}}');
  const next = page + 1 < end ? `"c${page + 1}"}}` : 'null}}';
  if (page === Math.floor(plan.pages / 2)) spoiled(response, list, page, next);
  else send(response, list, next);
}

/** Answers with the present fault. */
function spoiled(response: ServerResponse, list: Buffer, page: number, next: string): void {
  const busy = '{"code":1003,"msg":"system busy","data":{';
  switch (fault) {
    case 'none':
      send(response, list, next);
      break;
    case 'error_inside':
      send(response, Buffer.from(busy), '}}');
      break;
    case 'error_and_list':
      send(response, Buffer.from(busy), '"list":[],"cursor":null}}');
      break;
    case 'repeated_once':
    case 'repeated_cursor':
      if (fault === 'repeated_once') fault = 'none';
      send(response, list, `"c${page - 2}"}}`);
      break;
    case 'no_answer':
      tell({ held: true });
      break;
  }
}

function send(response: ServerResponse, head: Buffer, tail: string): void {
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': head.length + Buffer.byteLength(tail),
  });
  response.cork();
  response.write(head);
  response.end(tail);
}

/** docs/explanation/interface.md, section 5: all four parameters are in the query string. */
function isRouted({ method, url = '' }: IncomingMessage): boolean {
  const { searchParams } = new URL(`http://bench${url}`);
  return (
    method === 'POST' &&
    searchParams.get('bid') === CREDENTIALS.bid &&
    searchParams.get('token') === CREDENTIALS.token &&
    searchParams.get('action') === ACTION &&
    searchParams.get('version') === '1.0'
  );
}

function isSigned({ headers }: IncomingMessage): boolean {
  const date = headers[`x-${SERVICE_NAME.toLowerCase()}-date`];
  const digest = headers[`x-${SERVICE_NAME.toLowerCase()}-authentication`];
  return typeof date === 'string' && digest === digestOf(CREDENTIALS, ACTION, date);
}
