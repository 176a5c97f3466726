import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quoted, redactor } from '../../shared/service/redact.ts';

const token = 'tök en/+"&=1';
const redact = redactor([token, '', 'geheim']);

describe('I9: redaction', () => {
  it.each([
    ['as it is', token],
    ['as a URI component', encodeURIComponent(token)],
    ['as a form field', new URLSearchParams({ t: token }).toString().slice(2)],
    ['with lower-case escapes', encodeURIComponent(token).replaceAll(/%../g, (hex) => hex.toLowerCase())],
    ['inside JSON text', JSON.stringify(token).slice(1, -1)],
    ['inside JSON text, slashes too', 'tök en\\/+\\"&=1'],
    ['inside JSON text in ASCII', String.raw`t\u00f6k en\u002F+\u0022\u0026\u003d1`],
    ['inside JSON text inside JSON text', JSON.stringify(JSON.stringify(token).slice(1, -1)).slice(1, -1)],
    ['as JavaScript', String.raw`t\xf6k\x20en\x2F+\x22\u{26}=1`],
    ['as HTML', 'tök en/+&quot;&amp;=1'],
    ['as HTML, with numbers', 't&#246;k en&#x2F;&#43;&#34;&#38;&#x3d;1'],
    ['as HTML, without semicolons', 'tök en&#x2F+&quot&amp=1'],
    ['as HTML that was escaped twice', 'tök en&amp;#x2F;+&amp;quot;&amp;amp;=1'],
    ['as HTML inside JSON text', String.raw`tök en/+\u0026quot;\u0026amp;=1`],
    ['as JSON text in HTML', 'tök en/+\\&quot;&amp;=1'],
    ['as a URI component twice', encodeURIComponent(encodeURIComponent(token))],
    ['a digest', 'c0603ea2f4bd66eaac5e6fbbd2093ea6426d7e13e0a8cc4f5550368f55f7e64a'],
    ['a digest in capitals', 'C0603EA2F4BD66EAAC5E6FBBD2093EA6426D7E13E0A8CC4F5550368F55F7E64A'],
    ['the other secret', 'geheim'],
  ])('replaces %s', (_name, echoed) => {
    expect(redact(`before ${echoed} after`)).toBe('before [redacted] after');
  });

  it('leaves other text alone', () => {
    expect(redact('code 1001: unknown publisher 0123456789abcdef')).toBe(
      'code 1001: unknown publisher 0123456789abcdef',
    );
  });

  it('replaces the longer of two secrets where one is the beginning of the other', () => {
    expect(redactor(['abc', 'abcdef'])('abcdef')).toBe('[redacted]');
  });

  it('replaces a secret whichever of its characters are escaped, and however', () => {
    const escapes: ((character: string) => string)[] = [
      (character) => character,
      (character) => `&#${character.codePointAt(0)};`,
      (character) => `&#x${character.codePointAt(0)?.toString(16).toUpperCase()};`,
      (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
      (character) =>
        Array.from(
          { length: character.length },
          (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
        ).join(''),
      (character) =>
        [...new TextEncoder().encode(character)]
          .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
          .join(''),
    ];
    const escaped = fc.array(
      fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }), fc.constantFrom(...escapes)),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(escaped, (parts) => {
        const secret = parts.map(([text]) => text).join('');
        const echoed = parts
          .map(([text, escaped]) => Array.from(text, (character) => escaped(character)).join(''))
          .join('');
        expect(redactor([secret])(`before:${echoed}`)).toBe('before:[redacted]');
      }),
    );
  });

  it('is done before text is cut, so that no part of a secret is left', () => {
    const secret = 'S'.repeat(32);
    fc.assert(
      fc.property(fc.integer({ min: 150, max: 210 }), (at) => {
        expect(quoted(redactor([secret]), `${'x'.repeat(at)}${secret}tail`)).not.toContain('SS');
      }),
    );
  });

  it('puts text on one line of at most 200 characters', () => {
    expect(quoted(redact, ' a\r\n\tb\u2028c\u0007\u200bd ')).toBe('a b c d');
    expect(quoted(redact, 'y'.repeat(500))).toBe(`${'y'.repeat(200)}…`);
  });
});
