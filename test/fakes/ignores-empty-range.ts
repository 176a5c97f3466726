/**
 * Fault: a service that answers an empty range of time with all its records.
 * It stands as a proxy before the sample service.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Asks the service behind it for all time whenever a range begins where it ends. */
export async function ignoresEmptyRange(baseUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const fields = JSON.parse(await text(request));
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/api/acme`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
