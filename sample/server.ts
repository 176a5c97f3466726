/**
 * Serves docs/explanation/interface.md over HTTP on loopback, with generated records: the sample brand service. The
 * demo, `serve-sample`, the sync tests and the cost bench run against it. A test can change its records, credentials
 * and clock while it runs, and make it fail (faults.ts).
 * - It is the oracle of the sync tests for the records of a day (`recordsOfDay`).
 * - It refuses requests that the interface does not allow. It shares no code of signing, days or paging with the
 * product, so that a misunderstanding goes unnoticed only if both have it.
 * - A request passes authenticate.ts, then answer.ts (fields.ts checks its fields, actions/ answers). Then spoil.ts and
 * send.ts apply its fault, if it has one.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { textOf } from '../shared/adapters/error-fields.ts';
import { BrandReportsError } from '../shared/base/errors.ts';
import { answer } from './answer.ts';
import { authenticate, signatureOf } from './authenticate.ts';
import type { SampleBrand } from './brand.ts';
import { createCursors } from './cursors.ts';
import { defaultBrands } from './default-brands.ts';
import { createFaultBook, type FaultRule } from './faults.ts';
import { defaultInterpretations, type Interpretations } from './interpretations.ts';
import { bodyFields, isMethod, queryFields, type RequestLog, routingOf } from './request.ts';
import { send } from './send.ts';
import { spoil } from './spoil.ts';

export interface SampleOptions {
  /** 0, the default, selects any free port. The service listens on loopback only. */
  port?: number;
  /** By name. The default is `acme` in New York and `globex` in Berlin, with sixty days of records each. */
  brands?: Record<string, Omit<SampleBrand, 'name' | 'baseUrl'>>;
  /** The word in the header names `X-<SERVICE>-DATE` and `X-<SERVICE>-AUTHENTICATION`. */
  serviceName?: string;
  /** How far the date of a request may be from `now`. */
  driftSeconds?: number;
  interpretations?: Partial<Interpretations>;
  faults?: readonly FaultRule[];
  /** The service's clock, the machine's by default. */
  now?: () => Date;
}

export interface SampleService {
  url: string;
  serviceName: string;
  interpretations: Interpretations;
  brands: Record<string, SampleBrand>;
  requests: RequestLog[];
  now(): Date;
  /** @returns a function that removes the rule */
  addFault(rule: FaultRule): () => void;
  /** Ends every cursor given so far. */
  forgetCursors(): void;
  close(): Promise<void>;
}

/**
 * Starts the service; each brand is at `<url>/api/<name>`.
 * @throws BrandReportsError `config` if the port is not available
 */
export async function startSampleService(options: SampleOptions = {}): Promise<SampleService> {
  const { port = 0, serviceName = 'SAMPLE', driftSeconds = 300, now = () => new Date() } = options;
  const interpretations = { ...defaultInterpretations, ...options.interpretations };
  const brands = new Map<string, SampleBrand>();
  const requests: RequestLog[] = [];
  const cursors = createCursors(interpretations, {
    requests: () => requests.length,
    nowMs: () => now().getTime(),
  });
  const faults = createFaultBook();
  for (const rule of options.faults ?? []) faults.add(rule);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(`http://sample${request.url}`);
    const brand = brands.get(pathname);
    const routing = routingOf(searchParams);
    const { method = '' } = request;
    response.setHeader('Date', now().toUTCString());
    if (!isMethod(method)) return void response.writeHead(405, { Allow: 'GET, POST' }).end();
    if (brand === undefined || routing === undefined)
      return void response.writeHead(404, { 'Content-Length': 0 }).end();

    const given = method === 'GET' ? queryFields(searchParams) : bodyFields(await text(request));
    const call = { brand: brand.name, action: routing.action, fields: given ?? {} };
    const fault = faults.next(call);
    const entry: RequestLog = { number: requests.length + 1, method, ...call };
    if (fault !== undefined) entry.fault = fault.kind;
    requests.push(entry);

    const nowMs = now().getTime() + (fault?.kind === 'skewed_clock' ? fault.skewMs : 0);
    response.setHeader('Date', new Date(nowMs).toUTCString());
    const signed = { ...routing, ...signatureOf(request.headers, serviceName) };
    entry.date = signed.date;
    const envelope =
      authenticate(brand, signed, nowMs, driftSeconds) ??
      answer({ ...routing, brand, method, given, interpretations, cursors });
    Object.assign(entry, send(response, spoil(envelope, fault, requests), fault));
  }

  // Not imported, because the import would load `fetch` with each `--help`: it exports WebSocket too, which takes 30 ms
  // of CPU.
  const server = process.getBuiltinModule('node:http').createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    throw new BrandReportsError(
      'config',
      'port_unavailable',
      `Port ${port} is not available (${textOf(cause, 'code')}). Use another one, or 0 for any free port.`,
      { cause },
    );
  });
  const { port: actualPort } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${actualPort}`;
  for (const [name, brand] of Object.entries(options.brands ?? defaultBrands(now())))
    brands.set(`/api/${name}`, { ...brand, name, baseUrl: `${url}/api/${name}` });

  return {
    url,
    serviceName,
    interpretations,
    brands: Object.fromEntries([...brands.values()].map((brand) => [brand.name, brand])),
    requests,
    now,
    addFault: faults.add,
    forgetCursors: () => cursors.forget(),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
