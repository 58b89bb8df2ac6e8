import { describe, expect, test } from 'vitest';
import { listPrices, removePrice, setPrice } from '../../../src/store/accounts/prices.ts';
import { memoryDatabase, NOON } from '../../support/simulator.ts';

const PRICE = { provider: '', model: 'house-model', inputPicoUsd: 1_000_000, outputPicoUsd: 5_000_000 };

describe('prices', () => {
  test('are set, replaced whole, and removed', async () => {
    const db = await memoryDatabase();
    await setPrice(db, { ...PRICE, cachedInputPicoUsd: 100_000 }, NOON);
    await setPrice(db, { ...PRICE, inputPicoUsd: 2_000_000 }, NOON);
    expect(await listPrices(db)).toEqual([{ ...PRICE, inputPicoUsd: 2_000_000 }]);
    expect(await removePrice(db, '', 'house-model')).toBe(true);
    expect(await removePrice(db, '', 'house-model')).toBe(false);
    expect(await listPrices(db)).toEqual([]);
  });

  test('are kept apart by provider', async () => {
    const db = await memoryDatabase();
    await setPrice(db, PRICE, NOON);
    await setPrice(db, { ...PRICE, provider: 'local', inputPicoUsd: 0, outputPicoUsd: 0 }, NOON);
    expect((await listPrices(db)).map(({ provider }) => provider)).toEqual(['', 'local']);
  });
});
