import { formatRequestId } from '../../ids.ts';
import { describeExcess, readDistrustedBounds, trustBounds } from '../../store/budgets/distrusted-bounds.ts';
import { countContradictions } from '../../store/reports/contradictions.ts';
import { plural } from '../../terminal/numbers.ts';
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

const DAYS = 30;

/** Counts the reports of usage that contradict themselves, by provider. */
export async function checkReports(context: Context): Promise<Finding[]> {
  const sinceMs = context.clock.now() - DAYS * 86_400_000;
  const found = await withStore(context, async (db) => countContradictions(db, sinceMs));
  return found.map(({ provider, requests }) =>
    warning(
      'usage',
      `${provider} reported usage that contradicts itself for ${plural(requests, 'request')} in ${DAYS} days; the figures are on the records`,
      'gw requests, for those flagged "inconsistent"; and tell the provider',
    ),
  );
}

/** Uses all bounds again; returns how many were off. */
export function switchBoundsOn(context: Context): Promise<number> {
  return withStore(context, trustBounds);
}
