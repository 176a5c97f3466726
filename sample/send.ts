import type { ServerResponse } from 'node:http';
import { stringifyJson } from '../shared/base/json.ts';
import type { Envelope } from './envelope.ts';
import type { Fault } from './faults.ts';

/** The status and `code` that were sent; both are missing if the request got no response. */
export interface Sent {
  status?: number;
  code?: number;
}

/** Sends the response, changed by a transport fault. spoil.ts has the faults of content. */
export function send(response: ServerResponse, envelope: Envelope, fault: Fault | undefined): Sent {
  const body = Buffer.from(stringifyJson(envelope));
  const half = body.subarray(0, body.length / 2);
  switch (fault?.kind) {
    case 'hang':
      return {};
    case 'reset':
      response.socket?.resetAndDestroy();
      return {};
    case 'status':
      if (fault.retryAfter !== undefined) response.setHeader('Retry-After', fault.retryAfter);
      return sendText(response, fault.status, 'text/plain', 'The service is not available.');
    case 'redirect':
      response.setHeader('Location', fault.location);
      return sendText(response, 302, 'text/plain', '');
    case 'html':
      return sendText(response, 200, 'text/html', '<!doctype html><title>Maintenance</title>');
    case 'cut_json':
      return sendText(response, 200, 'application/json', half);
    case 'cut_off':
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      response.write(half, () => response.destroy());
      return { status: 200 };
    case 'headers':
      for (const [name, value] of Object.entries(fault.headers)) response.setHeader(name, value);
  }
  return { ...sendText(response, 200, 'application/json', body), code: envelope.code };
}

function sendText(response: ServerResponse, status: number, type: string, body: string | Buffer): Sent {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
  return { status };
}
