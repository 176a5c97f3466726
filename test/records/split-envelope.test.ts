import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringifyJson } from '../../shared/base/json.ts';
import { recordsOfList } from '../../shared/records/record-list.ts';
import { MAX_BESIDE_BYTES, type SplitEnvelope, splitEnvelope } from '../../shared/records/split-envelope.ts';
import { checkSplit } from './check-scan.ts';
import { envelopes, mutated, mutations, plainLists } from './record-texts.ts';
import { runs } from '../fixtures/property-runs.ts';

function taken(text: string): SplitEnvelope | undefined {
  const split = splitEnvelope(Buffer.from(text));
  return split && 'rest' in split ? split : undefined;
}

describe('a response that is split', () => {
  it('I8: is refused, or has the records and the envelope of the exact parser', () => {
    fc.assert(
      fc.property(envelopes, mutations, (text, changes) => {
        checkSplit(Buffer.from(text));
        checkSplit(mutated(Buffer.from(text), changes));
      }),
      runs(1_000),
    );
  });

  it('is accepted with any plain records', () => {
    fc.assert(
      fc.property(plainLists, (list) => {
        const text = `{"code":0,"msg":"success","data":{"list":${list},"pageInfo":{"endCursor":"x"}}}`;
        expect(checkSplit(Buffer.from(text))).toBe(true);
      }),
    );
  });

  it.each<[string, string, string, string]>([
    [
      'the list',
      '{"code":0,"data":{"list":[{"a":1}],"cursor":"x"}}',
      '[{"a":1}]',
      '{"code":0,"data":{"list":[],"cursor":"x"}}',
    ],
    ['the only other list', '{"data":{"n":1.10,"rows":[{}]}}', '[{}]', '{"data":{"n":1.10,"rows":[]}}'],
    [
      'the list among other fields',
      '{"data":{"a":[{}],"list":[],"b":[1]}}',
      '[]',
      '{"data":{"a":[{}],"list":[],"b":[1]}}',
    ],
    [
      'data before the code, between spaces',
      ' { "data" : { "list" : [ { "a" : 1 } ] } , "code" : 0 } \n',
      '[{"a":1}]',
      '{"data":{"list":[]},"code":0}',
    ],
    [
      'a response with other lists above',
      '{"list":[1],"data":{"list":[{"a":1}]}}',
      '[{"a":1}]',
      '{"list":[1],"data":{"list":[]}}',
    ],
    [
      'a response with repeated keys deeper down',
      '{"e":{"a":1,"a":2},"data":{"list":[]}}',
      '[]',
      '{"e":{"a":2,"_duplicates":{"a":[1]}},"data":{"list":[]}}',
    ],
  ])('has its records in %s', (_name, text, records, rest) => {
    const split = taken(text);
    expect(split && stringifyJson(recordsOfList(split.records))).toBe(records);
    expect(split && stringifyJson(split.rest)).toBe(rest);
  });

  it.each([
    [MAX_BESIDE_BYTES, true],
    [MAX_BESIDE_BYTES + 1, false],
  ])('I12: has %d bytes besides its records: split: %s', (bytes, isTaken) => {
    const text = (msg: string) => `{"msg":"${msg}","data":{"list":[]}}`;
    const filled = text('x'.repeat(bytes - text('').length + 2));
    expect(splitEnvelope(Buffer.from(filled))).toMatchObject(
      isTaken ? { field: 'list' } : { besideBytes: bytes },
    );
  });

  it('I6: is left to the exact parser if a list without that name may belong to a large record', () => {
    const text = `{"data":{"note":"${'x'.repeat(MAX_BESIDE_BYTES)}","items":[{"a":1}]}}`;
    expect(splitEnvelope(Buffer.from(text))).toBeUndefined();
  });

  it('I12: keeps nothing of thousands of lists that are not the records', () => {
    const others = Array.from({ length: 5_000 }, (_, index) => `"l${index}":[{"a":1}]`);
    const before = process.memoryUsage().arrayBuffers;
    const split = taken(`{"data":{${others.join(',')},"list":[{"b":1}]}}`);
    expect(split?.records.count).toBe(1);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 2 ** 20);
  });
});
