import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { costOf } from '../../src/pricing/cost.ts';
import { readUsage, usageRules } from '../../src/pricing/usage-payload.ts';
import { GOLDEN } from './golden-usage.ts';

const NOON = '2026-11-20T12:00:00Z';
const catalog = createCatalog();

/** `100 x 0.15 + 20 x 0.6` in nano-USD, by integers alone and apart from the code under test. */
function nanoOfBill(bill: string): number {
  const nano = bill.split(' + ').map((term) => {
    const [tokens = '', price = ''] = term.split(' x ');
    const [whole = '', fraction = ''] = price.split('.');
    return Number(tokens) * Number(whole + fraction.padEnd(3, '0'));
  });
  return nano.reduce((sum, each) => sum + each, 0);
}

describe('costOf() agrees with the bill worked out by hand', () => {
  test.each(GOLDEN)('$provider $model: $name', ({ provider, model, usage, bill, nanoUsd, at = NOON }) => {
    expect(nanoOfBill(bill)).toBe(nanoUsd);
    const card = catalog.find(provider, model, Date.parse(at));
    const read = readUsage(usage, usageRules(provider, model));
    expect(card && read && costOf(read, card)).toBe(nanoUsd);
  });
});

test('there are at least 40 of them', () => {
  expect(GOLDEN.length).toBeGreaterThanOrEqual(40);
});
