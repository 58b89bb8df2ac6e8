import { formatRequestId } from '../../ids.ts';
import { readDistrustedBounds, trustBounds } from '../../store/budgets/distrusted-bounds.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { type Finding, ok, warning } from './check.ts';

/** Lists the input bounds that are off because a provider reported more tokens than they allowed. */
export async function checkHolds(context: Context): Promise<Finding[]> {
  const bounds = await withStore(context, async (db) => readDistrustedBounds(db, context.clock.now()));
  if (bounds.length === 0) return [ok('holds', 'no request was reported above its bound')];
  const times = createTimeFormat(readSettings(context).settings.timezone);
  return bounds.map(({ provider, model, bound, at, requestId }) =>
    warning(
      'holds',
      `${provider}/${model} reported more input than the ${bound} bound of ${formatRequestId(requestId)} allowed (${times.dateTime(at)}). That bound is off for 30 days, so holds are larger`,
      'gw doctor --trust-bounds, to use it again now',
    ),
  );
}

/** Uses all input bounds again; returns how many were off. */
export function switchBoundsOn(context: Context): Promise<number> {
  return withStore(context, trustBounds);
}
