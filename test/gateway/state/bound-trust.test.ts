import { describe, expect, test } from 'vitest';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { readDistrustedBounds, trustBounds } from '../../../src/store/budgets/distrusted-bounds.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const DAY = 86_400_000;

async function start() {
  const parts = await openGatewayParts();
  const target: Target = await parts.targetOf('mock/test-model');
  const id = parts.gateway.nextId();
  return { ...parts, target, id, trust: parts.gateway.boundTrust };
}

describe('bound trust', () => {
  test('switches one bound of one model off, says so once, and stores it', async () => {
    const { trust, target, id, warnings, gateway, db, clock } = await start();
    trust.distrust(target, 'exact', id);
    trust.distrust(target, 'exact', id);
    await gateway.ledger.write(() => undefined);
    expect(trust.isTrusted(target, 'exact')).toBe(false);
    expect(trust.isTrusted(target, 'edit')).toBe(true);
    expect(trust.isTrusted({ ...target, model: 'other' }, 'exact')).toBe(true);
    expect(warnings.filter((text) => text.includes('gw doctor'))).toHaveLength(1);
    expect(readDistrustedBounds(db, clock.now())).toEqual([
      { provider: 'mock', model: 'test-model', bound: 'exact', at: clock.now(), requestId: id },
    ]);
  });

  test('keeps it off for 30 days', async () => {
    const { trust, target, id, gateway, db, clock } = await start();
    trust.distrust(target, 'edit', id);
    await gateway.ledger.write(() => undefined);
    trust.reload();
    expect(trust.isTrusted(target, 'edit')).toBe(false);
    clock.setWallTime(clock.now() + 30 * DAY + 1);
    trust.reload();
    expect(trust.isTrusted(target, 'edit')).toBe(true);
    expect(readDistrustedBounds(db, clock.now())).toEqual([]);
  });

  test('uses it again when a person says so', async () => {
    const { trust, target, id, gateway, db } = await start();
    trust.distrust(target, 'edit', id);
    await gateway.ledger.write(() => undefined);
    expect(await trustBounds(db)).toBe(1);
    trust.reload();
    expect(trust.isTrusted(target, 'edit')).toBe(true);
  });
});
