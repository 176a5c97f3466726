/**
 * Serves one S3 bucket over real HTTP, with the documented conditional writes and multipart uploads, and with few keys
 * in each page of a list. Faults: `conflicts`, `unavailable`, `refuseMissing`, `refuseAll`, `refuseParts`,
 * `loseAnswer`, `owner`; each is described below.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { S3Client } from '@aws-sdk/client-s3';
import { compareKeys } from '../../shared/adapters/keys.ts';
import { type Access, PLACE, accessKeyOf } from './access.ts';
import { awsTestOptions } from './aws-test-options.ts';
import { startHttpServer } from './http-server.ts';

interface Stored {
  body: Buffer;
  etag: string;
  modifiedAt: Date;
  contentType?: string;
}

/** Faults that stay until they are turned off or used up. */
interface S3Faults {
  /** The number of conditional writes that are answered 409, as when another writer races. */
  conflicts: number;
  /** The number of requests that are answered 503. */
  unavailable: number;
  /** A missing key is refused, as without `s3:ListBucket`. */
  refuseMissing: boolean;
  /** Every request is refused. */
  refuseAll: boolean;
  /** Uploads of parts are answered 400. */
  refuseParts: boolean;
  /** The next write is performed, but its answer is lost. */
  loseAnswer: boolean;
  /** The account that owns the bucket: requests with another expected owner are refused. */
  owner: string;
}

interface Call {
  accessKey: string;
  method: string;
  key: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

type Answer = { status: number; body?: string | Buffer; headers?: Record<string, string> };

const SMALLEST_PART = 5 * 1024 * 1024;

interface S3Options {
  bucket?: string;
  /** Keys a page of a list. */
  pageSize?: number;
  /** Refuses requests without permission; without it everything is allowed. */
  access?: Access;
}

export async function startS3Server({ bucket = 'lake', pageSize = 3, access = () => true }: S3Options = {}) {
  const objects = new Map<string, Stored>();
  const uploads = new Map<string, Map<number, Buffer>>();
  /** The versions of objects in a versioned bucket, the newest first; a version without a size is a delete marker. */
  const noncurrent = new Map<string, { key: string; bytes?: number; body?: Buffer }>();
  /** `PUT key`, or `PUT key?uploads` with the names of the query. */
  const requests: string[] = [];
  /** The expected owner of the bucket in each request; `undefined` without an expected owner. */
  const namedOwners = new Set<string | undefined>();
  const faults: S3Faults = {
    conflicts: 0,
    unavailable: 0,
    refuseMissing: false,
    refuseAll: false,
    refuseParts: false,
    loseAnswer: false,
    owner: PLACE.split(':').at(-1) ?? '',
  };

  function respond(request: IncomingMessage, received: Buffer, response: ServerResponse): void {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://s3');
    const [, name, ...parts] = decodeURIComponent(pathname).split('/');
    const { method = '', headers } = request;
    const body = decoded(headers, received);
    const call = { accessKey: accessKeyOf(request), method, key: parts.join('/'), query, headers, body };
    query.delete('x-id');
    namedOwners.add(ownerIn(call));
    requests.push(`${method} ${call.key}${query.size > 0 ? `?${[...query.keys()].join('&')}` : ''}`);
    const answer = name === bucket ? faulty(call) : fault(404, 'NoSuchBucket');
    if (answer === 'lost') response.destroy();
    else response.writeHead(answer.status, answer.headers).end(method === 'HEAD' ? undefined : answer.body);
  }

  function faulty(call: Call): Answer | 'lost' {
    if (faults.refuseAll || (ownerIn(call) ?? faults.owner) !== faults.owner)
      return fault(403, 'AccessDenied');
    if (faults.unavailable > 0) {
      faults.unavailable -= 1;
      return fault(503, 'ServiceUnavailable');
    }
    const answer = neededBy(call).every((action) => allows(call, action))
      ? perform(call)
      : fault(403, 'AccessDenied');
    if (!faults.loseAnswer || call.method === 'GET') return answer;
    faults.loseAnswer = false;
    return 'lost';
  }

  function allows({ accessKey, key, headers }: Call, action: string, named = key): boolean {
    const isOfBucket = ['s3:ListBucket', 's3:ListBucketVersions'].includes(action);
    const resource = isOfBucket ? bucket : `${bucket}/${named}`;
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
    return access(accessKey, action, `arn:aws:s3:::${resource}`, {
      ...(ifMatch !== undefined && { 's3:if-match': ifMatch }),
      ...(ifNoneMatch !== undefined && { 's3:if-none-match': ifNoneMatch }),
    });
  }

  function perform(call: Call): Answer {
    const { method, key, query } = call;
    if (method === 'GET' && query.has('versions')) return listVersions(query);
    if (method === 'GET' && key === '') return list(query);
    if (method === 'GET' || method === 'HEAD') return read(call);
    if (method === 'POST' && query.has('delete')) return removeAll(call);
    if (method === 'POST' && query.has('uploads')) return begin(key);
    if (method === 'POST') return complete(call);
    if (method === 'PUT' && query.has('uploadId')) return part(call);
    if (method === 'PUT') return put(call);
    return query.has('uploadId') ? abort(call) : remove(key);
  }

  function read(call: Call): Answer {
    const { key, query, headers } = call;
    const version = query.get('versionId');
    const kept = noncurrent.get(version ?? '')?.body;
    const found = version === null ? objects.get(key) : kept && { ...storedNow, body: kept };
    if (found === undefined)
      return faults.refuseMissing || !allows(call, 's3:ListBucket')
        ? fault(403, 'AccessDenied')
        : fault(404, 'NoSuchKey');
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const answerHeaders = { etag: found.etag, 'last-modified': found.modifiedAt.toUTCString() };
    if (from === undefined) return { status: 200, body: found.body, headers: answerHeaders };
    if (Number(from) >= found.body.length) return fault(416, 'InvalidRange');
    return { status: 206, body: found.body.subarray(Number(from), Number(to) + 1), headers: answerHeaders };
  }

  function put({ key, headers, body }: Call): Answer {
    const found = objects.get(key);
    const ifMatch = headers['if-match'];
    const ifAbsent = headers['if-none-match'] === '*';
    if ((ifMatch !== undefined || ifAbsent) && faults.conflicts > 0) {
      faults.conflicts -= 1;
      return fault(409, 'ConditionalRequestConflict');
    }
    if (ifMatch !== undefined && found === undefined) return fault(404, 'NoSuchKey');
    if ((ifMatch !== undefined && ifMatch !== found?.etag) || (ifAbsent && found !== undefined)) {
      return fault(412, 'PreconditionFailed');
    }
    return { status: 200, headers: { etag: store(key, body, headers['content-type']) } };
  }

  function store(key: string, body: Buffer, contentType?: string): string {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    objects.set(key, {
      body,
      etag,
      modifiedAt: new Date(),
      ...(contentType !== undefined && { contentType }),
    });
    return etag;
  }

  function list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(compareKeys);
    const left = keys.filter((key) => after === '' || compareKeys(key, after) > 0);
    const page = left.slice(0, pageSize);
    const more = left.length > pageSize;
    const contents = page.map((key) => contentsOf(key, objects.get(key)));
    const next = more ? `<NextContinuationToken>${escaped(page.at(-1) ?? '')}</NextContinuationToken>` : '';
    return xml('ListBucketResult', `<IsTruncated>${more}</IsTruncated>${next}${contents.join('')}`);
  }

  function listVersions(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('version-id-marker') ?? '';
    const kept = [...noncurrent].filter(([id, { key }]) => key.startsWith(prefix) && id > after);
    const page = kept.slice(0, pageSize);
    const text = ([id, { key, body, bytes = body?.length }]: (typeof page)[number]) => {
      const named = `<Key>${escaped(key)}</Key><VersionId>${id}</VersionId><IsLatest>${bytes === undefined}</IsLatest><LastModified>${storedNow.modifiedAt.toISOString()}</LastModified>`;
      return bytes === undefined
        ? `<DeleteMarker>${named}</DeleteMarker>`
        : `<Version>${named}<Size>${bytes}</Size></Version>`;
    };
    const current = [...objects.keys()]
      .filter((key) => key.startsWith(prefix))
      .map(
        (key) =>
          `<Version><Key>${escaped(key)}</Key><VersionId>now</VersionId><IsLatest>true</IsLatest></Version>`,
      );
    const [key, id] = [page.at(-1)?.[1].key ?? '', page.at(-1)?.[0] ?? ''];
    const next = `<NextKeyMarker>${escaped(key)}</NextKeyMarker><NextVersionIdMarker>${id}</NextVersionIdMarker>`;
    return xml(
      'ListVersionsResult',
      `<IsTruncated>${kept.length > pageSize}</IsTruncated>${next}${[...page.map(text), ...current].join('')}`,
    );
  }

  function removeAll(call: Call): Answer {
    const refused: string[] = [];
    const named = /<Key>([^<]*)<\/Key>(?:<VersionId>([^<]*)<\/VersionId>)?/g;
    for (const [, text = '', version] of call.body.toString().matchAll(named)) {
      const key = unescaped(text);
      const action = version === undefined ? 's3:DeleteObject' : 's3:DeleteObjectVersion';
      if (!allows(call, action, key))
        refused.push(`<Error><Key>${text}</Key><Code>AccessDenied</Code><Message>no</Message></Error>`);
      else if (version === undefined || version === 'now') objects.delete(key);
      else noncurrent.delete(version);
    }
    return xml('DeleteResult', refused.join(''));
  }

  function remove(key: string): Answer {
    objects.delete(key);
    return { status: 204 };
  }

  function begin(key: string): Answer {
    const id = randomUUID();
    uploads.set(id, new Map());
    return xml('InitiateMultipartUploadResult', `<Key>${escaped(key)}</Key><UploadId>${id}</UploadId>`);
  }

  function part({ query, body }: Call): Answer {
    if (faults.refuseParts) return fault(400, 'InvalidRequest');
    const parts = uploads.get(query.get('uploadId') ?? '');
    if (parts === undefined) return fault(404, 'NoSuchUpload');
    parts.set(Number(query.get('partNumber')), body);
    return { status: 200, headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` } };
  }

  function complete({ key, query, body }: Call): Answer {
    const id = query.get('uploadId') ?? '';
    const parts = uploads.get(id);
    if (parts === undefined) return fault(404, 'NoSuchUpload');
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) =>
      parts.get(Number(number)),
    );
    const bodies = named.filter((each) => each !== undefined);
    if (bodies.length !== named.length) return fault(400, 'InvalidPart');
    if (bodies.slice(0, -1).some((each) => each.length < SMALLEST_PART)) return fault(400, 'EntityTooSmall');
    uploads.delete(id);
    return xml('CompleteMultipartUploadResult', `<ETag>${escaped(store(key, Buffer.concat(bodies)))}</ETag>`);
  }

  function abort({ query }: Call): Answer {
    return uploads.delete(query.get('uploadId') ?? '') ? { status: 204 } : fault(404, 'NoSuchUpload');
  }

  const server = await startHttpServer(respond);
  const client = new S3Client(awsTestOptions(server.url));
  return { ...server, bucket, client, objects, noncurrent, uploads, requests, namedOwners, faults };
}

/** Of every version that is not current. */
const storedNow = { etag: '"kept"', modifiedAt: new Date('2026-03-10T12:00:00Z') };

function ownerIn({ headers }: Call): string | undefined {
  return headers['x-amz-expected-bucket-owner']?.toString();
}

/** The actions that must be allowed; deletion of several keys is judged key by key. */
function neededBy({ method, key, query, headers }: Call): string[] {
  if (method === 'GET' && query.has('versions')) return ['s3:ListBucketVersions'];
  if (method === 'GET' && key === '') return ['s3:ListBucket'];
  if (query.has('versionId')) return ['s3:GetObjectVersion'];
  if (method === 'GET' || method === 'HEAD') return ['s3:GetObject'];
  if (method === 'DELETE') return [query.has('uploadId') ? 's3:AbortMultipartUpload' : 's3:DeleteObject'];
  if (query.has('delete')) return [];
  return headers['if-match'] === undefined ? ['s3:PutObject'] : ['s3:PutObject', 's3:GetObject'];
}

/** SDKs send a stream of unknown checksum as `<length in hex>\r\n<bytes>\r\n … 0\r\n<trailers>`. */
function decoded(headers: IncomingMessage['headers'], body: Buffer): Buffer {
  if (!String(headers['content-encoding']).includes('aws-chunked')) return body;
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.subarray(at, line).toString(), 16);
    if (!(length > 0)) return Buffer.concat(chunks);
    chunks.push(body.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}

function contentsOf(key: string, stored: Stored | undefined): string {
  const modified = stored?.modifiedAt.toISOString();
  return `<Contents><Key>${escaped(key)}</Key><Size>${stored?.body.length}</Size><LastModified>${modified}</LastModified></Contents>`;
}

function fault(status: number, code: string): Answer {
  return { ...xml('Error', `<Code>${code}</Code><Message>${code}</Message>`), status };
}

function xml(root: string, content: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><${root}>${content}</${root}>`;
  return { status: 200, body, headers: { 'content-type': 'application/xml' } };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
