import { usdNumber } from '../../money.ts';
import type { TierChoice } from '../context/tier-choice.ts';

/** For the header `x-service-route`: `tier=fast; asked=gpt-5; score=0.21<0.35; why=short; basis=prior; by=share`. */
export function describeTier({ decision, scored, name, lacks }: TierChoice, request: string): string {
  const { applied, tier, threshold, because } = decision;
  const { score, why, basis } = scored;
  const sign = tier === 'strong' ? '>=' : '<';
  const words = [
    applied ? `tier=${name}` : `tier=asked; would=${name}`,
    `asked=${printable(request)}`,
    `score=${threshold === undefined ? score.toFixed(2) : compared(score, sign, threshold)}`,
    ...(why.length > 0 ? [`why=${why.join(',')}`] : []),
    `basis=${basis}`,
    `by=${because}${lacks.length > 0 ? `(${lacks.join(',')})` : ''}`,
  ];
  return words.join('; ');
}

/** With as many decimals as it takes to see which is more; of equals a hash of the conversation has decided. */
function compared(score: number, sign: string, threshold: number): string {
  const decimals = [2, 3, 4].find((count) => score.toFixed(count) !== threshold.toFixed(count));
  if (decimals === undefined) return `${score.toFixed(2)}=${threshold.toFixed(2)}`;
  return score.toFixed(decimals) + sign + threshold.toFixed(decimals);
}

/** For the request's record. */
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
    basis: scored.basis,
    by: because,
  };
  if (lacks.length > 0) detail.lacks = lacks.join(',');
  if (saved !== undefined) detail.saved_usd = usdNumber(saved);
  return detail;
}

/** The header takes printable ASCII alone, and a semicolon would end the word. */
function printable(model: string): string {
  return model.replaceAll(/[^\x21-\x3a\x3c-\x7e]/g, '_');
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
