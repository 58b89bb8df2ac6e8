import { formatRequestId } from '../../ids.ts';
import { describeExcess, readDistrustedBounds, trustBounds } from '../../store/budgets/distrusted-bounds.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { type Finding, ok, warning } from './check.ts';

/** Lists the bounds of holds that are off because a provider's report exceeded them. */
export async function checkHolds(context: Context): Promise<Finding[]> {
  const bounds = await withStore(context, async (db) => readDistrustedBounds(db, context.clock.now()));
  if (bounds.length === 0) return [ok('holds', 'no request was reported above its bound')];
  const times = createTimeFormat(readSettings(context).settings.timezone);
  return bounds.map(({ provider, model, bound, at, requestId }) =>
    warning(
      'holds',
      `${provider}/${model} ${describeExcess(bound)} (${formatRequestId(requestId)}, ${times.dateTime(at)}). Holds are larger for 30 days`,
      'gw doctor --trust-bounds, to end that now',
    ),
  );
}

/** Uses all bounds again; returns how many were off. */
export function switchBoundsOn(context: Context): Promise<number> {
  return withStore(context, trustBounds);
}
