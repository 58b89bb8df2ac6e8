import { formatUsd, NANO_PER_USD } from '../money.ts';

/** Records are kept for months, so their fields are as an older daemon may have written them. */
type Recorded = Record<string, unknown>;

const DECIDERS: Record<string, string> = {
  needs: 'what the cheaper tier lacks',
  min_tier: 'the requested minimum tier',
  tool_loop: 'the running tool loop',
  sealed: 'encrypted reasoning that only it can read',
  budget: 'the budget',
  share: 'the share',
  gain: 'the expected gain of the strong tier',
  sticky: 'the tier that the conversation already has',
};

/** The tier of a request, and why it was chosen. */
export function tierText(tier: Recorded): string {
  const { chosen, applied, by, lacks, saved_usd: saved } = tier;
  const decided = `decided by ${DECIDERS[String(by)] ?? by}${lacks === undefined ? '' : ` (${lacks})`}`;
  const parts = [
    applied === true
      ? `${chosen}, ${decided}`
      : `the requested model, because too little is known; it would be ${chosen}`,
    scoreText(tier),
    ...(typeof saved === 'number' ? [`saved ${formatUsd(Math.round(saved * NANO_PER_USD))}`] : []),
  ];
  return parts.join('; ');
}

/** `score 0.21, below 0.35 (short), by the built-in rules`. */
function scoreText({ score, threshold, why, basis }: Recorded): string {
  const side =
    typeof threshold === 'number'
      ? `, ${Number(score) < threshold ? 'below' : 'at least'} ${decimal(threshold)}`
      : '';
  const reasons = typeof why === 'string' && why !== '' ? ` (${why.replaceAll(',', ', ')})` : '';
  const source = basis === 'learnt' ? 'what the project learnt' : 'the built-in rules';
  return `score ${decimal(score)}${side}${reasons}, by ${source}`;
}

/** What a shadow request on an old record was for: earlier versions sent them to the other tier to learn from it. */
export function shadowText({ of, tier, agrees }: Recorded): string {
  const outcome =
    agrees === null || agrees === undefined
      ? 'the answers cannot be compared'
      : agrees
        ? 'the answers agree'
        : 'the answers differ';
  return `of ${of}, to compare with the ${tier === 'weak' ? 'cheaper' : 'strong'} tier; ${outcome}`;
}

function decimal(value: unknown): string {
  return String(Math.round(Number(value) * 100) / 100);
}
