import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { packSettings, settingsOfHash, unpackSettings } from '../../shared/settings/packed-settings.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

/** Text that differs between any two brands. */
function settingsOf(count: number, noise = (_brand: string): string => 'a state') {
  const brands = Array.from(
    { length: count },
    (_, index) => `brand-${hash('md5', String(index)).slice(0, 12)}`,
  );
  const settings = (brand: string) => ({
    ...{ baseUrl: `https://${brand}.example/api/${brand}`, service: brand, timeZone: 'Europe/Berlin' },
    ...{
      startDate: '2024-01-01',
      reports: { order_list: { states: { words: { [noise(brand)]: 'void' } } } },
    },
  });
  return parseSettings(
    { brands: Object.fromEntries(brands.map((brand) => [brand, settings(brand)])) },
    reports,
  );
}

describe('settings on their way to the functions', () => {
  const settings = settingsOf(2);

  it('are unpacked unchanged, with the same hash each time they are packed', () => {
    const packed = packSettings(settings);
    expect(unpackSettings(packed)).toEqual({ json: Buffer.from(JSON.stringify(settings)), settings });
    expect(packSettings(settingsOf(2))).toEqual(packed);
  });

  it.each([
    ['another hash', { ...packSettings(settings), hash: '0'.repeat(64) }],
    ['other settings', { ...packSettings(settings), packed: packSettings(settingsOf(1)).packed }],
    ['no Brotli', { ...packSettings(settings), packed: 'bm8=' }],
  ])('are refused: %s', (_name, packed) => expect(unpackSettings(packed)).toBeUndefined());

  it.each(['[]', 'null', '{"brands":[]}', '{"brands":{"acme":{}}}'])(
    'are refused if their outline is wrong, even if the hash is right: %s',
    (text) => expect(settingsOfHash(Buffer.from(text), hash('sha256', text))).toBeUndefined(),
  );

  it('of 300 brands fit four times into the limit', () => {
    expect(packSettings(settingsOf(300)).packed.length).toBeLessThan(90_000 / 4);
  });

  it('are refused, with the next step, if they are too large for CloudFormation’s event', () => {
    const noise = (brand: string) => hash('sha512', brand, 'hex') + hash('sha512', `${brand}2`, 'hex');
    expect(() => packSettings(settingsOf(600, noise))).toThrow(
      /^The settings of 600 brands take \d+ characters when compressed; .* 90000 .*Divide the brands/,
    );
  });
});
