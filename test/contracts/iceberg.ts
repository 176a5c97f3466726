import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { IcebergCatalog } from '../../shared/ports.ts';
import { ORDERS } from './catalog.ts';

export interface IcebergUnderTest {
  /** Opens the same catalog again, as another run does. */
  open(): IcebergCatalog;
  close(): Promise<void>;
}

/** The behaviour that the core needs of every catalog of Iceberg tables: each adapter's test runs it. */
export function icebergContract(name: string, setUp: () => Promise<IcebergUnderTest>): void {
  describe(`${name} as a catalog of Iceberg tables`, () => {
    let underTest: IcebergUnderTest;
    const load = () => underTest.open().load('orders');
    const replace = async (text: string) => (await load()).replace(Buffer.from(text), ORDERS);
    const text = async () => {
      const { metadata } = await load();
      return metadata && Buffer.from(metadata).toString();
    };

    beforeEach(async () => {
      underTest = await setUp();
    });
    afterEach(() => underTest.close());

    it('has no table at first', async () => {
      expect((await load()).metadata).toBeUndefined();
    });

    it('I3: has the metadata that was committed last, in whichever table', async () => {
      for (const next of ['1', '2', '3']) {
        expect(await replace(next)).toBe(true);
        expect(await text()).toBe(next);
      }
      expect((await underTest.open().load('clicks')).metadata).toBeUndefined();
    });

    it.each<[string, string[]]>([
      ['the first', []],
      ['a later', ['1']],
    ])(
      'I5: lets one of two runs make %s commit, and the other run gets a conflict',
      async (_name, before) => {
        for (const one of before) await replace(one);
        const [slow, fast] = [await load(), await load()];
        expect(await fast.replace(Buffer.from('fast'), ORDERS)).toBe(true);
        expect(await slow.replace(Buffer.from('slow'), ORDERS)).toBe(false);
        expect(await text()).toBe('fast');
        expect(await replace('next')).toBe(true);
        expect(await text()).toBe('next');
      },
    );
  });
}
