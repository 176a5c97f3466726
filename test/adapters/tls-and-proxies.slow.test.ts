import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, type Server, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { HttpResult } from '../../shared/ports.ts';
import { classifyResponse } from '../../shared/service/envelope.ts';
import { EXPIRED, KEY, LOCALHOST, OTHER_HOST } from '../fixtures/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'brand-reports-'));
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return port;
}

const tls = (cert: string, more = {}) =>
  listening(createHttpsServer({ key: KEY, cert, ...more }, (_request, response) => response.end('whole')));

function trusting(certificate: string): { NODE_EXTRA_CA_CERTS: string } {
  const file = join(folder, 'authority.pem');
  writeFileSync(file, certificate);
  return { NODE_EXTRA_CA_CERTS: file };
}

const ADAPTER = fileURLToPath(new URL('../../shared/adapters/send-request.ts', import.meta.url));
const PROGRAM = `
  const { sendRequest } = await import(${JSON.stringify(ADAPTER)});
  const request = { url: process.argv[1], method: 'GET', headers: {} };
  const result = await sendRequest(request, { timeoutMs: 60_000, onHeaders() {} });
  console.log(JSON.stringify(result.body ? { body: Buffer.from(result.body).toString() } : result));`;

/** A process of its own, because Node reads its environment at the start. */
async function sentBy(url: string, env: Record<string, string>) {
  const program = ['--input-type=module', '-e', PROGRAM, url];
  const { stdout } = await promisify(execFile)(process.execPath, program, { env });
  return JSON.parse(stdout);
}

function shown(result: HttpResult): string {
  const context = { brand: 'acme', action: 'a', isProven: false, quote: (text: string) => text };
  const found = classifyResponse(result, context);
  return found.is === 'success' ? found.is : `${found.error.kind} ${found.error.code} ${found.error.message}`;
}

describe('TLS', () => {
  it.each<[string, string, object, boolean, RegExp]>([
    [
      'an untrusted certificate',
      LOCALHOST,
      {},
      false,
      /^config tls .*set NODE_EXTRA_CA_CERTS .*DEPTH_ZERO_SELF/,
    ],
    [
      'a certificate of another host',
      OTHER_HOST,
      {},
      true,
      /^config tls .*for this host \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
    ],
    ['an expired certificate', EXPIRED, {}, true, /^config tls .*valid now.* \(CERT_HAS_EXPIRED\)/],
    [
      'TLS 1.1',
      LOCALHOST,
      { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' },
      true,
      /^config tls .*protocol version/,
    ],
  ])('with %s is an error of the settings', async (_name, cert, more, isTrusted, error) => {
    const url = `https://localhost:${await tls(cert, more)}/`;
    expect(shown(await sentBy(url, isTrusted ? trusting(cert) : {}))).toMatch(error);
  });

  it('with NODE_EXTRA_CA_CERTS trusts an authority of its own', async () => {
    const url = `https://localhost:${await tls(LOCALHOST)}/`;
    expect(await sentBy(url, trusting(LOCALHOST))).toEqual({ body: 'whole' });
  });

  it('and plain HTTP are told apart', async () => {
    const plain = await listening(createHttpServer((_request, response) => response.end()));
    expect(shown(await sentBy(`https://localhost:${plain}/`, {}))).toMatch(
      /^config tls .*wrong version number/,
    );
    const secret = await tls(LOCALHOST);
    expect(shown(await sentBy(`http://localhost:${secret}/`, {}))).toMatch(/begin baseUrl with https:/);
  });
});

describe('a proxy', () => {
  /** Connects to the target whatever host is requested. */
  async function proxyTo(target: number, status = 200) {
    const asked: (string | undefined)[] = [];
    const proxy = createHttpServer();
    proxy.on('connect', (request, client) => {
      asked.push(request.url, request.headers['proxy-authorization']);
      client.on('error', () => undefined);
      if (status !== 200) return client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      const upstream = connect(target, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
      upstream.pipe(client).pipe(upstream);
    });
    return { asked, address: `127.0.0.1:${await listening(proxy)}` };
  }

  it('of HTTPS_PROXY is used with NODE_USE_ENV_PROXY=1, with its password', async () => {
    const { asked, address } = await proxyTo(await tls(LOCALHOST));
    const env = { ...trusting(LOCALHOST), NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: `http://me:pass@${address}` };
    expect(await sentBy('https://localhost:443/', env)).toEqual({ body: 'whole' });
    expect(asked).toEqual(['localhost:443', `Basic ${Buffer.from('me:pass').toString('base64')}`]);
  });

  it('of HTTPS_PROXY alone is not used, and a failure shows why', async () => {
    const { asked, address } = await proxyTo(1);
    for (const name of ['HTTPS_PROXY', 'https_proxy'])
      expect(shown(await sentBy('https://127.0.0.1:1/', { [name]: `http://${address}` }))).toContain(
        'HTTPS_PROXY is set, but Node uses it only with NODE_USE_ENV_PROXY=1',
      );
    expect(asked).toEqual([]);
  });

  it.each([
    [407, /^config network .*the proxy refused to connect.*HTTP\/1\.1 407/],
    [502, /^transient network .*HTTP\/1\.1 502/],
  ])('that responds %d is named, without its address', async (status, error) => {
    const { address } = await proxyTo(1, status);
    const env = { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: `http://${address}` };
    const text = shown(await sentBy('https://localhost:443/', env));
    expect(text).toMatch(error);
    expect(text).not.toContain(address);
  });
});
