/** Every JSON that a page prints is JSON, and every example of settings is accepted. */
import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
import { parseJsonc } from '../../shared/settings/jsonc.ts';
import { type Block, blocksOf, pages } from './pages.ts';

const BRAND = {
  baseUrl: 'https://service.example/api/brand',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
};

/** The values of a block: one, the members of an object without its braces, or one for each paragraph or line. */
function valuesIn({ text }: Block): unknown[] | undefined {
  for (const parts of [[text], [`{${text}}`], text.split(/\n\n+/), text.trim().split('\n')]) {
    const values = parts.flatMap((part) => {
      const parsed = parseJsonc(part, JSON.parse);
      return 'value' in parsed ? [parsed.value] : [];
    });
    if (values.length === parts.length) return values;
  }
  return undefined;
}

/** The settings that an example is a part of; `undefined` if it is of something else. */
function settingsWith(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const keys = Object.keys(value);
  const isAllOf = (known: readonly string[]) => keys.length > 0 && keys.every((key) => known.includes(key));
  // An example may leave out what every brand has.
  if ('brands' in value && !Array.isArray(value.brands)) {
    const brands = Object.entries(value.brands ?? {}).map(([name, own]) => [
      name,
      { ...BRAND, ...Object(own) },
    ]);
    return { ...value, brands: Object.fromEntries(brands) };
  }
  const acme = (own: object) => ({ brands: { acme: { ...BRAND, ...own } } });
  if (isAllOf(['deployment', 'events', 'catalogs', 'requestsPerSecond', 'pagesInFlight']))
    return { ...acme({}), ...value };
  if (isAllOf(Object.keys(reports))) return acme({ reports: value });
  return isAllOf([...Object.keys(BRAND), 'reports', 'secretName']) ? acme(value) : undefined;
}

const blocks = pages.flatMap((page) =>
  ['json', 'jsonc'].flatMap((mark) => blocksOf(page, mark).map((block) => ({ page, ...block }))),
);

describe('the JSON of the pages', () => {
  it.each(blocks.map((block) => [block.page, block.line, block] as const))(
    'is valid in %s, line %d',
    (_page, _line, block) => {
      const values = valuesIn(block);
      expect(values).toBeDefined();
      for (const value of values ?? []) {
        const settings = settingsWith(value);
        if (settings) loadSettings(JSON.stringify(settings), 'settings.jsonc', reports);
      }
    },
  );

  it('has examples of settings, and a wrong one is refused', () => {
    const found = blocks
      .flatMap((block) => valuesIn(block) ?? [])
      .flatMap((value) => settingsWith(value) ?? []);
    expect(found.length).toBeGreaterThan(3);
    const wrong = settingsWith({ order_list: { key: 1 } });
    expect(() => loadSettings(JSON.stringify(wrong), 'settings.jsonc', reports)).toThrow('key');
  });
});
