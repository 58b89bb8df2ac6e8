import { formatUsd, NANO_PER_USD } from '../../money.ts';
import { needText } from '../../terminal/request-facts.ts';
import { servedBy } from '../../terminal/request-words.ts';
import type { Plan, Refused } from './plan.ts';
import type { TierAnswer } from './tier.ts';

type Fact = [name: string, value: string];

/** The targets in the order in which they would be tried, and whether the budgets have room. */
export function planFacts(plan: Plan | Refused): Fact[] {
  if ('refused' in plan) return [['target', `none: gw would refuse the request, ${plan.refused}`]];
  const { targets, budget } = plan;
  const next = targets.filter(({ state }) => state === 'next');
  const others = targets.filter(({ state }) => state !== 'next');
  const names = next.map(servedBy).join(', then ') || 'none now: the client is told when to retry';
  return [
    ['target', `${names}${worstCase(next[0])}`],
    ...others.map((target, i): Fact => [i === 0 ? 'skips' : '', `${servedBy(target)}: ${whyNot(target)}`]),
    ...(budget
      ? [['budget', `${budget.outcome}; ${budget.name} has ${usd(budget.room_usd)} left`] as Fact]
      : []),
    ...(budget?.need ? [['need', needText(budget.need)] as Fact] : []),
  ];
}

/** The daemon's choice of a tier, which considers required capabilities, the conversation's tier and the budget. */
export function plannedTier(
  { chosen, applied, by, lacks, threshold, score }: NonNullable<Plan['tier']>,
  { modelsOf }: TierAnswer,
): string {
  const tier = `${chosen} (${modelsOf[chosen] ?? ''})`;
  const sign = threshold !== null && score < threshold ? 'below' : 'at least';
  const compared = threshold === null ? '' : `, because the score is ${sign} ${threshold.toFixed(2)}`;
  if (by === 'needs') return `${tier}, because the cheaper one lacks ${lacks ?? 'what it needs'}`;
  if (!applied) return `none yet: it would be ${tier}${compared}, but too little is known (${by})`;
  return `${tier}${compared}; decided by the ${by}`;
}

export function routeJson(plan: Plan | Refused): Record<string, unknown> {
  if ('refused' in plan) return { refused: plan.refused };
  const { route, targets, saved_tokens, budget } = plan;
  return { why: route, targets, saved_tokens, budget };
}

export function noPlan(model: string | undefined): string {
  return model === undefined
    ? 'The file names no model, so its targets are not known.'
    : 'gw is not running, so the targets and the room in budgets are not known. Run: gw start';
}

function worstCase(target: Plan['targets'][number] | undefined): string {
  if (!target) return '';
  const { worst_case_usd: most } = target;
  return most === undefined ? ', at an unknown price' : `, for at most ${usd(most)}`;
}

function whyNot({ state, because = '', wait_ms }: Plan['targets'][number]): string {
  if (state === 'passed_over') return because;
  const seconds = Math.ceil((wait_ms ?? 0) / 1_000);
  return `cooling down for ${seconds} s (${because.replaceAll('_', ' ')})`;
}

function usd(dollars: number): string {
  return formatUsd(Math.round(dollars * NANO_PER_USD));
}
