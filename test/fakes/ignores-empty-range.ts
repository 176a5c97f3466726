/**
 * Fault: the service answers an empty time range with all its records. The fault is a proxy in front of the sample
 * service.
 */
import { type HttpServer, startHttpServer } from './http-server.ts';

/** Requests all time from the real service whenever a range begins where it ends. */
export async function ignoresEmptyRange(baseUrl: string): Promise<HttpServer> {
  const server = await startHttpServer(async (request, body, response) => {
    const fields = JSON.parse(body.toString());
    if (fields.start_time === fields.end_time)
      Object.assign(fields, { start_time: 0, end_time: 4_000_000_000 });
    const { host: _host, 'content-length': _length, connection: _connection, ...headers } = request.headers;
    const query = new URL(`http://proxy${request.url}`).search;
    const answer = await fetch(baseUrl + query, {
      method: 'POST',
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      body: JSON.stringify(fields),
    });
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      date: answer.headers.get('date') ?? '',
    });
    response.end(await answer.text());
  });
  return { ...server, url: `${server.url}/api/acme` };
}
