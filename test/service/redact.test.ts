import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Credentials } from '../../shared/ports.ts';
import { quoted, quotedAround, redactor } from '../../shared/service/redact.ts';
import { runs } from '../fixtures/property-runs.ts';

const token = 'tök en/+"&=1';
const of = (one: Partial<Credentials>): Credentials => ({ bid: '', token: '', secret: '', ...one });
const redact = redactor([of({ token, secret: 'geheim' })]);

/** What credentials may contain: `credentials.ts` accepts no other characters. */
const visible = (minLength: number, maxLength: number) =>
  fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength,
    maxLength,
  });

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
    ['in capitals', token.toUpperCase()],
    ['as C, in octal', String.raw`t\303\266k\40en\057+\042\046\0751`],
    ['as quoted-printable', 't=C3=B6k=20en/+"&=3D1'],
    ['as quoted-printable on two lines', 't=C3=B6k e=\r\nn/+"&=3D1'],
    ['in full width', 'ｔök ｅｎ／＋＂＆＝１'],
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

  it('replaces the longer of two secrets if one is the beginning of the other', () => {
    expect(redactor([of({ token: 'abc', secret: 'abcdef' })])('abcdef')).toBe('[redacted]');
  });

  it('replaces a secret, whichever of its characters are escaped in whatever way', () => {
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
    const escaped = fc.array(fc.tuple(visible(1, 1), fc.constantFrom(...escapes)), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(escaped, (parts) => {
        const secret = parts.map(([text]) => text).join('');
        const echoed = parts
          .map(([text, escaped]) => Array.from(text, (character) => escaped(character)).join(''))
          .join('');
        expect(redactor([of({ secret })])(`→${echoed}`)).toBe('→[redacted]');
      }),
    );
  });

  it.each(['t', 'tp', 'htt'])(
    'replaces a token of up to three characters only as a whole word: %s',
    (short) => {
      expect(redactor([of({ token: short })])(`http://a.example/?token=${short} http`)).toBe(
        'http://a.example/?token=[redacted] http',
      );
    },
  );

  it('happens before text is cut, so that no part of a secret is left', () => {
    const secret = 'S'.repeat(32);
    fc.assert(
      fc.property(fc.integer({ min: 150, max: 210 }), (at) => {
        expect(quoted(redactor([of({ secret })]), `${'x'.repeat(at)}${secret}tail`)).not.toContain('SS');
      }),
    );
  });

  it('leaves no part of a secret at the end of a long text, which is cut before it is redacted', () => {
    const secret = 'S'.repeat(40);
    const redactOne = redactor([of({ secret })]);
    for (let at = 9_940; at <= 10_000; at += 1)
      expect(quoted(redactOne, `${' '.repeat(at)}${secret}${'x'.repeat(20_000)}`)).not.toContain('S');
  });

  it.each([
    ['as they are', String.raw`\\\\\\z`],
    ['in JSON', String.raw`\\\\\\\\\\\\z`],
    ['in a URL', '%5C%5C%5C%5C%5C%5Cz'],
  ])('redacts a secret of backslashes %s, and finishes on a text of thousands of them', (_form, printed) => {
    const redact = redactor([{ bid: '1', token: String.raw`\\\\\\z`, secret: 'unused' }]);
    expect(redact(`a ${printed} b`)).toBe('a [redacted] b');
    expect(redact('\\'.repeat(10_000))).toHaveLength(10_000);
  });

  it('redacts a text of millions of digits', () => {
    expect(quoted(redact, '0123456789abcdef'.repeat(350_000))).toBe('[redacted]…');
  });

  it('puts text on one line of at most 200 characters', () => {
    expect(quoted(redact, ' a\r\n\tb\u2028c\u0007\u200bd ')).toBe('a b cd');
    expect(quoted(redact, 'y'.repeat(500))).toBe(`${'y'.repeat(200)}…`);
  });
});

describe('I9: a bid', () => {
  const short = redactor([of({ bid: '12' })]);
  const long = redactor([of({ bid: '123456' })]);

  it.each([
    ['alone', '12', '[redacted]'],
    ['at the end of a sentence', 'no brand 12.', 'no brand [redacted].'],
    ['in JSON', '{"bid":12,"x":"12"}', '{"bid":[redacted],"x":"[redacted]"}'],
    ['in an address', '/a?bid=12&token=', '/a?bid=[redacted]&token='],
    ['beside an underscore', 'bid_12_x', 'bid_[redacted]_x'],
    ['after quoted-printable', 'bid=3D12', 'bid=3D[redacted]'],
    ['after octal', String.raw`bid\07512`, String.raw`bid\075[redacted]`],
    ['in full width', 'brand １２', 'brand [redacted]'],
    ['with leading zeros', 'brand 00012', 'brand [redacted]'],
    ['between escaped quotes of an address', 'bid%2212%22', 'bid%22[redacted]%22'],
    ['between escaped quotes of JSON', String.raw`bid\u002212\u0022`, String.raw`bid\u0022[redacted]\u0022`],
    ['after an escaped line end', String.raw`bid\n12`, String.raw`bid\n[redacted]`],
    ['after a line end as JSON may escape it', String.raw`bid\u000a12`, String.raw`bid\u000a[redacted]`],
    ['between HTML quotes', 'bid&quot;12&quot;', 'bid&quot;[redacted]&quot;'],
    ['between HTML quotes without semicolons', 'bid&quot12&quot', 'bid&quot[redacted]&quot'],
    ['with escaped digits', 'bid=%31%32', 'bid=[redacted]'],
    ['split by an invisible character', 'brand 1\u200b2', 'brand [redacted]'],
  ])('of two digits is replaced as a whole word: %s', (_name, echoed, clean) => {
    expect(short(echoed)).toBe(clean);
  });

  it.each(['code 1201, 312 rows', 'a12', '12th', '2012-11-13', 'x12y', '1\u200b12', '%2F1212'])(
    'of two digits stays a part of other words: %s',
    (text) => {
      expect(short(text)).toBe(text.replaceAll('\u200b', ''));
    },
  );

  it.each(['1002', '1', '0', '200', '9', '2026'])('%s hides no code, status, count or day', (bid) => {
    const others = [
      'code 1002',
      'code: 1',
      '{"code":200}',
      '{"code": "0"}',
      'code=2026',
      'HTTP 200',
      'HTTP/1.1 200 OK',
      'status 1',
      '"count": 9',
      String.raw`{\"code\":1002}`,
      '2026-11-09',
      '2026-09-01T00:00:01Z',
      '2026/01/09',
      'Mon, 09 Nov 2026 01:00:09 GMT',
    ];
    for (const text of others) {
      expect(redactor([of({ bid })])(text)).toBe(text);
      expect(redactor([of({ bid })])(`${text}, brand ${bid}, bid=${bid}`)).toBe(
        `${text}, brand [redacted], bid=[redacted]`,
      );
    }
    expect(redactor([of({ bid, token: bid })])(`code ${bid}`)).toBe('code [redacted]');
  });

  it('of six characters is replaced anywhere', () => {
    expect(long('brand0123456789 of A123456B')).toBe('brand0[redacted]789 of A[redacted]B');
  });

  it('is replaced in capitals and small letters', () => {
    expect(redactor([of({ bid: 'Brand-7' })])('no BRAND-7, no brand-7')).toBe('no [redacted], no [redacted]');
  });

  it.each(['bid=12', '?v=2&bid=12345', '{"bid":1}', '{"v":"2","bid":"123"}', 'bid=123456', 'xbid=123456'])(
    'is replaced in base64 beside its name: %s',
    (text) => {
      const bid = /(\d+)\D*$/.exec(text)?.[1] ?? '';
      const echoed = `unknown: ${Buffer.from(text).toString('base64')}`;
      expect(redactor([of({ bid })])(echoed)).toMatch(/^unknown: \[redacted\]=*$/);
    },
  );

  it.each(['1,001', '1.001', "1'001", '1’001', '1 001', '1\u00a0001', '1\u202f001', '1001', '1001.0'])(
    'is replaced as services print numbers: %s',
    (printed) => {
      expect(redactor([of({ bid: '1001' })])(`brand ${printed} is unknown`)).toMatch(
        /^brand \[redacted\](\.0)? is unknown$/,
      );
    },
  );
});

describe('I9: a secret in another form', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const encodings: ((text: string) => string)[] = [
    base64,
    (text) => base64(text).replaceAll('=', ''),
    (text) => Buffer.from(text).toString('base64url'),
    (text) => encodeURIComponent(base64(text)),
    (text) => JSON.stringify(base64(text)).replaceAll('/', '\\/'),
    (text) => base64(text).replaceAll(/.{20}/g, '$&\r\n'),
    (text) => Buffer.from(text).toString('hex'),
    (text) => Buffer.from(text).toString('hex').toUpperCase(),
  ];

  it.each([
    ['an escape of an invisible character', String.raw`\X00!!!!!`],
    ['an entity of one', 'a-se&shy;cret'],
    ['its bytes in an address', 'a-secret%00'],
    ['an invisible character', 'a-se\u200bcret'],
    ['full-width letters', 'ａ-secret-ｂ'],
    ['nothing else', '%00%00'],
  ])('is replaced when it has %s itself', (_name, secret) => {
    const clean = redactor([of({ secret })]);
    expect(['', ' as it is'].map((end) => clean(`before ${secret}${end}`))).toEqual(
      secret === '%00%00'
        ? ['before ', 'before  as it is']
        : ['before [redacted]', 'before [redacted] as it is'],
    );
    expect(clean(`before ${Array.from(secret).join('\u00ad')}`)).not.toMatch(/!|cret/);
  });

  it('is replaced together with everything that was encoded with it', () => {
    fc.assert(
      fc.property(
        visible(8, 48),
        visible(0, 12),
        visible(0, 12),
        fc.constantFrom(...encodings),
        (secret, before, after, encode) => {
          const echoed = `unknown: ${encode(`${before}${secret}${after}`)}, try again`;
          expect(redactor([of({ secret })])(echoed)).toMatch(/^unknown: "?\[redacted\][="]*, try again$/);
        },
      ),
    );
  });

  it.each([
    ['an invisible character', '\u200b'],
    ['a soft hyphen', '\u00ad'],
    ['a filler', '\u3164'],
    ['a control character', '\u0007'],
    ['an escape of such a character', String.raw`\u200b`],
    ['another escape of such a character', String.raw`\x00`],
    ['an entity of such a character', '&#8203;'],
    ['a hexadecimal entity of such a character', '&#x200B;'],
    ['an entity that has a name', '&shy;'],
    ['its bytes in an address', '%E2%80%8B'],
    ['a zero byte in an address', '%00'],
    ['an empty braille cell', '\u2800'],
    ['half a surrogate pair', '\ud800'],
    ['a line end', '\n'],
  ])('is replaced with %s in the middle', (_name, between) => {
    const secret = 'a-secret-0001';
    const split = Array.from(secret).join(between);
    expect(quoted(redactor([of({ secret })]), `before ${split} after`)).toBe('before [redacted] after');
  });

  it.each([
    [':', ''],
    [' ', ''],
    [', ', '0x'],
  ])('is replaced as bytes in hexadecimal with %j between them', (between, prefix) => {
    const bytes = [...Buffer.from('a-secret-0001')].map((byte) => `${prefix}${byte.toString(16)}`);
    expect(redactor([of({ secret: 'a-secret-0001' })])(`before ${bytes.join(between)} after`)).toBe(
      `before ${prefix}[redacted] after`,
    );
  });

  it('leaves ordinary text readable', () => {
    // An escaped invisible character is not ordinary text.
    const isOrdinary = (each: string) => !/%00|\\[ux]|&/i.test(each);
    const text = fc.string({ unit: 'grapheme-ascii', maxLength: 200 }).filter(isOrdinary);
    const random = { token: 'Jq8#zT0w-Vb4!xLk', secret: '9Qp~r2M_c7^YdFh5' };
    fc.assert(
      fc.property(text, (ordinary) => {
        expect(redactor([of({ bid: '48151623', ...random })])(ordinary)).toBe(
          ordinary.replaceAll(/(?!\s)\p{Cc}/gu, ''),
        );
      }),
    );
  });
});

describe('I9: the text around a place', () => {
  it('has 60 characters before the place and 60 after it, on one line', () => {
    const text = `${'x'.repeat(100)}\n!${'y'.repeat(100)}`;
    expect(quotedAround(redact, text, 101)).toBe(`…${'x'.repeat(59)} !${'y'.repeat(59)}…`);
    expect(quotedAround(redact, 'x!', 1)).toBe('x!');
    expect(quotedAround(redact, 'x'.repeat(100), 100)).toBe(`…${'x'.repeat(60)}`);
  });

  it('has no part of a secret, wherever the place and the secret are', () => {
    const secret = fc.tuple(visible(8, 40), fc.nat(30_000), fc.integer({ min: -100, max: 100 }), fc.nat(300));
    fc.assert(
      fc.property(secret, ([any, before, distance, after]) => {
        // Other characters than those around it, and of "[redacted]".
        const hidden = any.toUpperCase();
        const text = 'é,'.repeat(before) + hidden + ',é'.repeat(after);
        const place = Math.min(text.length, Math.max(0, 2 * before + distance));
        const shown = quotedAround(redactor([of({ secret: hidden })]), text, place);
        expect(shown).toMatch(/^[[\]redact…é,]*$/);
      }),
      runs(100),
    );
  });
});
