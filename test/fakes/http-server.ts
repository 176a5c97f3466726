/**
 * Serves HTTP on the loopback and hands over each request with its whole body. All doubles use it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  url: string;
  close: () => Promise<void>;
}

export async function startHttpServer(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void,
): Promise<HttpServer> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => answer(request, Buffer.concat(parts), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
