import { usdNumber } from '../../money.ts';
import type { Fallback, TierChoice } from '../context/request-context.ts';

/** The header `x-service-route`, as in `tier=fast; asked=gpt-5; score=0.21<0.35; why=short; basis=prior; by=share`. */
export function describeTier({ decision, scored, name, lacks }: TierChoice, request: string): string {
  const { applied, tier, threshold, because } = decision;
  const { score, why } = scored;
  const sign = tier === 'strong' ? '>=' : '<';
  const parts = [
    applied ? `tier=${name}` : `tier=asked; would=${name}`,
    `asked=${printable(request)}`,
    `score=${threshold === undefined ? score.toFixed(2) : comparison(score, sign, threshold)}`,
    ...(why.length > 0 ? [`why=${why.join(',')}`] : []),
    'basis=prior',
    `by=${because}${lacks.length > 0 ? `(${lacks.join(',')})` : ''}`,
  ];
  return parts.join('; ');
}

/** The header `x-service-route` of a request that a budget sent to a cheaper model, as in `fallback; asked=gpt-5; by=web/daily`. */
export const describeFallback = ({ budget }: Fallback, request: string): string =>
  `fallback; asked=${printable(request)}; by=${printable(budget.name)}`;

/** Shows as many decimals as the comparison needs. Between equals, a hash of the conversation has decided. */
function comparison(score: number, sign: string, threshold: number): string {
  const decimals = [2, 3, 4].find((count) => score.toFixed(count) !== threshold.toFixed(count));
  if (decimals === undefined) return `${score.toFixed(2)}=${threshold.toFixed(2)}`;
  return score.toFixed(decimals) + sign + threshold.toFixed(decimals);
}

/** The tier in the request record's detail. */
export function tierDetail(
  { decision, scored, name, lacks }: TierChoice,
  saved: number | undefined,
): Record<string, unknown> {
  const { applied, threshold, because } = decision;
  const detail: Record<string, unknown> = {
    chosen: name,
    applied,
    score: rounded(scored.score),
    threshold: threshold === undefined ? null : rounded(threshold),
    why: scored.why.join(','),
    basis: 'prior',
    by: because,
  };
  if (lacks.length > 0) detail.lacks = lacks.join(',');
  if (saved !== undefined) detail.saved_usd = usdNumber(saved);
  return detail;
}

/** Replaces what the header can't contain (anything but printable ASCII) and the separator `;`. */
function printable(model: string): string {
  return model.replaceAll(/[^\x21-\x3a\x3c-\x7e]/g, '_');
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
