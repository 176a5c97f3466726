import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../shared/base/json.ts';
import { digestOf, signedHeaders } from '../../shared/service/request.ts';

function vector(name: string): string {
  const fixture = parseJson(
    readFileSync(new URL('../fixtures/signature-vector.json', import.meta.url), 'utf8'),
  );
  if (typeof fixture === 'object' && fixture !== null && name in fixture)
    return String(Object.entries(fixture).find(([key]) => key === name)?.[1]);
  throw new Error(`the vector has no ${name}`);
}

const credentials = { bid: '7', token: vector('token'), secret: vector('secret') };

describe('signature', () => {
  it('equals the signature of the published example', () => {
    expect(digestOf(credentials, vector('action'), vector('utcDate'))).toBe(vector('digest'));
  });

  it('is sent with its date in headers that contain the name of the service', () => {
    expect(signedHeaders('ACME', vector('action'), credentials, vector('utcDate'))).toEqual({
      'Content-Type': 'application/json',
      'X-ACME-DATE': vector('utcDate'),
      'X-ACME-AUTHENTICATION': vector('digest'),
    });
  });
});
