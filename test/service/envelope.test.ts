import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { stringifyJson } from '../../shared/base/json.ts';
import type { HttpHeaders } from '../../shared/ports.ts';
import { recordsOfList } from '../../shared/records/record-list.ts';
import { MAX_BESIDE_BYTES } from '../../shared/records/split-envelope.ts';
import {
  classifyResponse,
  lacksList,
  recordsOf,
  type ResponseClass,
  wholeData,
} from '../../shared/service/envelope.ts';
import { runs } from '../fixtures/property-runs.ts';
import { envelopes } from '../records/record-texts.ts';

const context = {
  brand: 'acme',
  action: 'report/order_list',
  isProven: false,
  quote: (text: string, at?: number) =>
    at === undefined ? `<${text}>` : `<${text.slice(0, at)}§${text.slice(at)}>`,
};

function classified(status: number, text: string, encoding: 'utf8' | 'latin1' = 'utf8'): ResponseClass {
  return classifyResponse({ status, headers: {}, body: Buffer.from(text, encoding) }, context);
}

/** Class, kind and code in a row, the message without the action, and the status that the error names. */
function shownFailure(response: ResponseClass) {
  if (response.is === 'success') throw new Error('a failure was expected');
  const { error } = response;
  expect(error).toBeInstanceOf(BrandReportsError);
  const { status } = error.context;
  return {
    is: `${response.is} ${error.kind} ${error.code}`,
    message: error.message.replace('acme report/order_list: ', ''),
    ...(status !== undefined && { status }),
  };
}

describe('a request without a whole response', () => {
  it.each([
    ['that timed out', 'timeout', 'timeout', 'no whole response arrived (timeout)'],
    [
      'whose host cannot be resolved now',
      'EAI_AGAIN',
      'network',
      'the name of the host cannot be resolved at present (EAI_AGAIN)',
    ],
    ['whose connection broke', 'ECONNRESET', 'network', 'no whole response arrived (ECONNRESET)'],
    ['that zlib refuses', 'Z_DATA_ERROR', 'network', 'the body cannot be decompressed (Z_DATA_ERROR)'],
  ])('%s is retried', (_name, failed, code, found) => {
    expect(shownFailure(classifyResponse({ failed }, context))).toEqual({
      is: `transient transient ${code}`,
      message: `${found}; if this persists, check baseUrl, timeoutSeconds and the network`,
    });
  });

  it.each([
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', /set NODE_EXTRA_CA_CERTS to the file .*\(UNABLE_TO_VER/],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls', /NODE_EXTRA_CA_CERTS/],
    ['CERT_HAS_EXPIRED', 'tls', /^no TLS connection: .*this machine's clock.*valid now/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', /^no TLS connection: .*for this host/],
    ['EPROTO', 'tls', /^no TLS connection: .*TLS 1\.2 .*\(EPROTO\)$/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'tls', /^no TLS connection/],
    ['ENOTFOUND', 'unknown_host', /^no host has this name: check the host of baseUrl/],
    ['ERR_PROXY_TUNNEL: HTTP/1.1 407', 'network', /^the proxy refused to connect/],
  ])('that fails with %s is not retried, and an operator must act', (shown, code, message) => {
    const [failed = '', detail] = shown.split(': ');
    const found = shownFailure(classifyResponse({ failed, ...(detail && { detail }) }, context));
    expect(found).toMatchObject({ is: `final config ${code}`, message: expect.stringMatching(message) });
  });

  it('that is too large is not retried', () => {
    expect(shownFailure(classifyResponse({ tooLargeBytes: 17 }, context))).toEqual({
      is: 'final contract too_large',
      message: 'the response is larger than 17 bytes, which no page is; check baseUrl',
    });
  });
});

describe('a status', () => {
  it.each<[number, string, string, string]>([
    [199, '', 'final contract http_199', 'HTTP 199 with an empty body; allowed is HTTP 200'],
    [300, 'x', 'final contract redirect', 'HTTP 300: redirects are not followed'],
    [399, '', 'final contract redirect', 'HTTP 399: redirects are not followed'],
    [400, ' \n', 'final contract http_400', 'HTTP 400 with an empty body; allowed is HTTP 200'],
    [400, 'oh no', 'final contract http_400', 'HTTP 400 with "<oh no>"; allowed is HTTP 200'],
    [401, '', 'refused auth http_401', 'HTTP 401 with an empty body; check bid, token and secret'],
    [403, 'no', 'refused auth http_403', 'HTTP 403 with "<no>"; check bid, token and secret'],
    [404, ' ', 'final config http_404', 'HTTP 404 with an empty body: the service responds like this if bid'],
    [404, 'x', 'final contract http_404', 'HTTP 404 with "<x>"; allowed is HTTP 200'],
    [408, '', 'transient transient http_408', 'HTTP 408 with an empty body'],
    [425, '', 'transient transient http_425', 'HTTP 425 with an empty body'],
    [429, 'slow', 'transient transient http_429', 'HTTP 429 with "<slow>"'],
    [499, '', 'final contract http_499', 'HTTP 499 with an empty body; allowed is HTTP 200'],
    [500, 'x', 'transient transient http_500', 'HTTP 500 with "<x>"'],
    [599, '', 'transient transient http_599', 'HTTP 599 with an empty body'],
  ])('%i with the body "%s" is %s', (status, text, is, message) => {
    const shown = shownFailure(classified(status, text));
    expect(shown).toMatchObject({ is, status });
    expect(shown.message.startsWith(message)).toBe(true);
  });

  it.each([200, 201, 299])('%i is the status of a page', (status) => {
    expect(classified(status, '{"code":0,"data":{}}').is).toBe('success');
  });
});

describe('a body', () => {
  const cutOff = (text: string, place: string) =>
    `the response is cut off after ${text.length} bytes; it ends in ${place}: "<${text}§>"`;
  const transient = 'transient transient truncated';
  it.each([
    ['in an object', ' {"code":0,"data":{"list":[', 'line 1, record 1'],
    ['in a string with a quote', '{"code":0,"msg":"a\\"}', 'line 1'],
    ['after a closing bracket in a string', '{"code":0,"msg":"}', 'line 1'],
    ['after a list', '{"code":0,"data":{"list":[]', 'line 1'],
    ['after an inner object', '{"code":0,"data":{}', 'line 1'],
    ['in a record', '{"code":0,\n"data":{"list":[{"id":1},{"id":2', 'line 2, record 2'],
  ])('that breaks off %s is retried', (_name, text, place) => {
    const found = { is: transient, message: cutOff(text, place), status: 200 };
    expect(shownFailure(classified(200, text))).toEqual(found);
  });

  const operator = "; report it to the service's operator";
  it.each([
    ['NaN', '{"code":0,"data":{"list":[{"a":1},\n{"a":§NaN}]}}', 'line 2, record 2'],
    ['infinity', '{"code":0,"data":{"rows":[{"a":§-Infinity}]}}', 'line 1, record 1'],
    ['a bad escape', String.raw`{"code":0,"data":{"list":[{"a":"C:§\dir"}]}}`, 'line 1, record 1'],
    ['a trailing comma', '{"code":0,§}', 'line 1'],
    ['a trailing comma in a list', '{"code":[0,§]}', 'line 1, record 2'],
    ['a control character', '{"code":0,"msg":"a§\u0001"}', 'line 1 (U+0001)'],
    ['a warning after the end', '{"code":0,"data":{"list":[{"a":1}]}}\n§<br />Warning', 'line 2'],
    ['a second document', '{"code":0,"data":{}}§{"code":0}', 'line 1'],
    ['a list that is cut off', '[{"code":0}§', 'line 1, record 1'],
    ['an error in the middle', '{"code":0,"data":{"list":[{"a":1},§<b>Fatal', 'line 1, record 2'],
  ])('I8: that is not JSON is shown where it is wrong: %s', (_name, text, place) => {
    const found = `the response is not JSON from byte ${text.indexOf('§') + 1} on, ${place}: "<${text}>"`;
    const shown = shownFailure(classified(200, text.replace('§', '')));
    expect(shown).toEqual({ is: 'final contract not_json', message: found + operator, status: 200 });
  });

  it.each([
    ['text with a bracket', 'oops {', '"<oops {>"'],
    ['a warning before the JSON', '\n<b>Warning</b>{"code":0}', '"<\n<b>Warning</b>{"code":0}>"'],
    ['nothing', ' \n', 'an empty body'],
  ])('that is not JSON from its beginning on is quoted: %s', (_name, text, shown) => {
    const message = `the response is not JSON but ${shown}; check baseUrl`;
    expect(shownFailure(classified(200, text))).toMatchObject({ is: 'final contract not_json', message });
  });

  /** The exact parser reads records with an unusual key. */
  const records = ['{"a":1}', String.raw`{"\u0061":1}`];
  it.each(records)('with byte order marks is read: %s', (record) => {
    const text = `\ufeff\ufeff{"code":0,"data":{"list":[${record}]}}`;
    const found = classified(200, text);
    expect(found.is === 'success' && wholeData(found.response)).toEqual({ list: [{ a: 1 }] });
  });

  const json = Buffer.from('{"code":0,"data":{"list":[{"a":"é"}]}}');
  const utf16 = Buffer.from(json.toString(), 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  const mark = (first: number, second: number, text: Buffer) =>
    Buffer.concat([Buffer.of(first, second), text]);
  it.each<[string, Buffer, string]>([
    ['UTF-16', utf16, 'UTF-16, little-endian'],
    ['UTF-16 with its mark', mark(0xff, 0xfe, utf16), 'UTF-16, little-endian'],
    ['swapped UTF-16', swapped, 'UTF-16, big-endian'],
    ['swapped UTF-16 with its mark', mark(0xfe, 0xff, swapped), 'UTF-16, big-endian'],
    ['gzip', gzipSync(json), 'compressed with gzip'],
    ['gzip cut off', gzipSync(json).subarray(0, 30), 'compressed with gzip'],
    ['zstd', zstdCompressSync(json), 'compressed with zstd'],
    ['zlib', deflateSync(json), 'compressed with deflate'],
  ])('that is no UTF-8 is named: %s', (_name, body, named) => {
    const answer = (status: number, headers: HttpHeaders) =>
      shownFailure(classifyResponse({ status, headers, body }, context));
    const without = named.replace(/^compressed.*/, '$&, without a Content-Encoding');
    const message = `the response is ${without}; UTF-8 is expected, so report it to the service's operator`;
    expect(answer(200, {})).toMatchObject({ is: 'final contract not_utf8', message });
    const twice = named.replace(
      /^compressed.*/,
      'still $& with the Content-Encoding "<x>"; allowed: gzip or br, once',
    );
    expect(answer(500, { 'content-encoding': 'x' }).message).toBe(`HTTP 500 with ${twice}`);
  });

  it.each([
    ['Latin-1', '{"code":0,"data":{"list":[{"name":"caf§é"}]}}', ', record 1'],
    ['Latin-1 that is no JSON', 'h§élas', ''],
  ])('that is %s is shown where it is', (_name, text, record) => {
    const at = text.indexOf('§');
    const message = `the response is not UTF-8: byte 0xE9 is Latin-1, or damaged, at byte ${at + 1}, line 1${record}: "<${text}>"`;
    const shown = shownFailure(classified(200, text.replace('§', ''), 'latin1'));
    expect(shown).toMatchObject({ is: 'final contract not_utf8', message });
  });

  it('that is nested too deeply is not classified as cut off', () => {
    expect(shownFailure(classified(200, '['.repeat(2_000) + ']'.repeat(2_000)))).toMatchObject({
      is: 'final contract not_json',
      message: 'the response is nested deeper than can be read',
    });
  });

  it('that ends within a character is classified as cut off', () => {
    expect(shownFailure(classified(200, '{"code":0,"msg":"Ã', 'latin1')).is).toBe(transient);
  });

  it('that is not an object is quoted', () => {
    expect(shownFailure(classified(200, '[1]'))).toEqual({
      is: 'final contract envelope',
      message: 'the response is not a JSON object but "<[1]>"',
      status: 200,
    });
  });
});

describe('an envelope', () => {
  const anInteger = 'an integer is expected';
  const anObject = 'an object is expected';
  it.each([
    ['{"data":{}}', 'final contract envelope', `"code" of the response is missing, ${anInteger}`],
    ['{"code":null}', 'final contract envelope', `"code" of the response is <null>, ${anInteger}`],
    ['{"code":[1]}', 'final contract envelope', `"code" of the response is <[1]>, ${anInteger}`],
    ['{"code":"00"}', 'final contract envelope', `"code" of the response is <"00">, ${anInteger}`],
    ['{"code":false}', 'final contract envelope', `"code" of the response is <false>, ${anInteger}`],
    ['{"code":0.0}', 'final contract envelope', `"code" of the response is <0.0>, ${anInteger}`],
    ['{"code":1e400}', 'final contract envelope', `"code" of the response is <1e400>, ${anInteger}`],
    ['{"code":0,"data":""}', 'final contract envelope', `"data" of the response is <"">, ${anObject}`],
    ['{"code":0,"data":[1]}', 'final contract envelope', `"data" of the response is <[1]>, ${anObject}`],
    [
      '{"code":7,"msg":"no"}',
      'refused auth service_code',
      '"<no>": the service refused with <code 7>; check bid',
    ],
    ['{"code":"-7","msg":3}', 'refused auth service_code', 'msg <3>: the service refused with <code -7>'],
    ['{"code":7,"data":{}}', 'refused auth service_code', 'msg missing: the service refused with <code 7>'],
    ['{"code":7,"code":0,"data":{}}', 'final contract envelope', 'the key "<code>" more than once'],
    ['{"code":0,"data":{"list":[],"list":[1]}}', 'final contract envelope', 'the key "<list>" more'],
    ['{"code":0,"data":{"pageInfo":{"a":1,"a":2}}}', 'final contract envelope', 'the key "<a>" more'],
  ])('I8: %s is refused', (text, is, message) => {
    const shown = shownFailure(classified(200, text));
    expect(shown).toMatchObject({ is, status: 200 });
    expect(shown.message).toContain(message);
  });

  it.each([
    [
      'before the service accepted a request',
      false,
      'auth',
      /check bid, .*: "brand-reports check" tests them$/,
    ],
    [
      'after the service accepted one',
      true,
      'contract',
      /check the permission for this report, and the filters$/,
    ],
  ])('I10: whose code is not 0, %s, tells what to check', (_name, isProven, kind, next) => {
    const body = Buffer.from('{"code":-7,"msg":"no"}');
    const quote = (text: string) => text;
    const found = classifyResponse({ status: 200, headers: {}, body }, { ...context, quote, isProven });
    expect(found).toMatchObject({ is: 'refused', error: { kind, context: { serviceCode: '-7' } } });
    expect(shownFailure(found).message).toMatch(next);
  });

  it.each(['{"code":0}', ...['{}', '[]', 'null'].map((data) => `{"code":0,"data":${data}}`)])(
    'I8: %s has no data',
    (text) => {
      expect(classified(200, text)).toMatchObject({ is: 'success', response: { data: {} } });
    },
  );

  it.each(['0', '"0"'])('with code %s is accepted', (code) => {
    expect(classified(200, `{"code":${code},"data":{"a":[{"b":1,"b":2}]}}`)).toMatchObject({
      is: 'success',
      response: { envelope: { data: { a: [{ b: 2 }] } }, data: { a: [{ b: 2 }] } },
    });
  });

  it('has its records as bytes if nothing in it is unusual', () => {
    const text = '{"code":0,"data":{"total":1,"rows":[{"a":1.10}]}}';
    const found = classified(200, text);
    const response = found.is === 'success' ? found.response : undefined;
    expect(response).toMatchObject({
      data: { total: 1, rows: [] },
      scanned: { field: 'rows', records: { count: 1 } },
    });
    expect(response && stringifyJson(wholeData(response))).toBe('{"total":1,"rows":[{"a":1.10}]}');
  });
});

describe('I8: the records of a page', () => {
  /** Unusual keys are parsed whole, other pages are scanned. */
  const pages = (data: string) => [`{"code":0,"data":${data}}`, String.raw`{"\u0063ode":0,"data":${data}}`];
  const responseTo = (text: string) => {
    const found = classified(200, text);
    if (found.is !== 'success') throw found.error;
    return found.response;
  };
  const read = (text: string) =>
    recordsOfList(recordsOf({ quote: (shown) => shown }, 'read', responseTo(text)));

  it.each([
    ['"list", beside other lists', '{"list":[{"a":1}],"tags":[]}'],
    ['the only list', '{"rows":[{"a":1}],"total":1}'],
  ])('are %s', (_name, data) => {
    for (const text of pages(data)) expect(read(text)).toEqual([{ a: 1 }]);
  });

  it.each([
    ['two lists', '{"a":[],"b":[1]}', 'missing_list', 'in "data", which has the keys a, b'],
    ['no key', '{}', 'missing_list', 'no list of records in the response: .* in "data", which has no keys'],
    ['a text', '{"list":"x","rows":[]}', 'missing_list', 'which has the keys list, rows'],
    [
      'a number among records',
      '{"list":[{},2.5]}',
      'bad_record',
      'element 1 of the list is a number, an object is expected',
    ],
    [
      'a list among records',
      '{"list":[[]]}',
      'bad_record',
      'element 0 of the list is a list, an object is expected',
    ],
  ])('are refused: %s', (_name, data, code, message) => {
    for (const text of pages(data)) {
      const refused = { kind: 'contract', code, message: expect.stringMatching(`^read: .*${message}$`) };
      expect(() => read(text)).toThrow(expect.objectContaining(refused));
    }
  });

  it.each([
    ['no data', '{}', true],
    ['a list that is null', '{"list":null,"total":0}', true],
    ['a list that is an empty object', '{"list":{}}', true],
    ['a list that is null beside another list', '{"list":null,"tags":[{"a":1}]}', true],
    ['lists of other names that are null', '{"rows":null,"cursor":null,"total":0}', true],
    ['one of two that is filled', '{"rows":null,"pageInfo":{"a":1}}', false],
    ['an empty list', '{"list":[]}', false],
    ['an empty list of another name', '{"rows":[]}', false],
    ['a list that is a text', '{"list":"x"}', false],
    ['only a cursor', '{"cursor":null}', false],
    ['records', '{"list":[{"a":1}]}', false],
  ])('%s in place of them: lacking is %s', (_name, data, lacks) => {
    for (const text of pages(data)) expect(lacksList(responseTo(text))).toBe(lacks);
  });
});

describe('I12: a page', () => {
  /** The exact parser reads records with an unusual key. */
  const records = [
    ['scanned', '{"a":1}'],
    ['parsed whole', String.raw`{"\u0061":1}`],
  ] as const;

  it.each(records)('that is %s may have up to 1 MB besides its records', (_name, record) => {
    const text = (msg: string, list: string) => `{"code":0,"msg":"${msg}","data":{"list":${list}}}`;
    const least = text('', '[]').length;
    // The two parsers count lists of different lengths: one counts two bytes for the list.
    const cases = fc.tuple(fc.nat(4), fc.integer({ min: -4, max: 6 }));
    fc.assert(
      fc.property(cases, ([count, more]) => {
        const msg = 'x'.repeat(MAX_BESIDE_BYTES - least + more);
        const list = `[${Array.from({ length: count + 1 }, () => record).join(',')}]`;
        const shown = classified(200, text(msg, list));
        if (more <= 0) expect(shown.is).toBe('success');
        if (more > 2)
          expect(shownFailure(shown)).toMatchObject({
            is: 'final contract too_large',
            message: expect.stringMatching(
              /^the response has \d+ bytes beside its records, 1048576 are allowed; check baseUrl, and lower page_size/,
            ),
          });
      }),
      runs(15),
    );
  });

  it('is refused for its size only if it is large', () => {
    fc.assert(
      fc.property(envelopes, (text) => {
        const shown = classified(200, text);
        expect(shown.is === 'success' ? '' : shown.error.code).not.toBe('too_large');
      }),
      runs(300),
    );
  });
});
