import { readItem } from '../../compression/turns/turns.ts';
import { usdText } from '../../terminal/numbers.ts';
import { needText } from '../../terminal/request-facts.ts';
import { servedBy } from '../../terminal/request-words.ts';
import { clean, pad } from '../../terminal/text.ts';
import type { TierDecision } from '../../tiering/decide-tier.ts';
import { type ScoredMessage, scorePrompt } from '../../tiering/score.ts';
import { type Context, note, sayJson, screenOf, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { messagesIn, type RequestFile, readRequestFile } from '../input/request-file.ts';
import { type Plan, planFor, type Refused } from './plan.ts';
import { type TierAnswer, tierFor } from './tier.ts';

/** Prints how much a request needs a strong model, where it would go, and why. Sends nothing. */
export async function explain(
  context: Context,
  file: string,
  {
    project,
    json,
    model: named,
  }: { project: string; json?: boolean | undefined; model?: string | undefined },
): Promise<void> {
  const read = await readRequestFile(context, file);
  const request = { ...read, model: read.model ?? named };
  const { model } = request;
  const messages = turnsOf(request);
  const scored = scorePrompt(promptIn(messages, file));
  const plan = await planFor(context, request, project);
  const planned = plan && 'tier' in plan ? plan.tier : null;
  const tier = await tierFor(context, { project, model, messages, score: scored.score });
  if (json) {
    const { score, why } = scored;
    sayJson(context, {
      project_id: project,
      model: model ?? null,
      score,
      basis: 'prior',
      // Only gw 0.2.0 and before, which learnt, could tell.
      gain: null,
      why,
      tier: tier ? tierJson(tier, planned) : null,
      route: plan ? routeJson(plan) : null,
    });
    return;
  }
  const { palette } = screenOf(context);
  const facts: [string, string][] = [
    ['score', `${scored.score.toFixed(2)} of 1: how much the prompt needs a strong model`],
    ['why', scored.why.join(', ') || 'nothing stands out'],
    ['basis', 'prior: the built-in rules'],
    ['tier', planned && tier ? plannedTier(planned, tier) : tierText(tier, model ?? 'its model')],
    ...(plan ? planFacts(plan) : []),
  ];
  tell(context, facts.map(([name, value]) => `${palette.dim(pad(name, 7))}${clean(value)}`).join('\n'));
  if (!tier) note(context, noTiers(model));
  if (!plan) note(context, noPlan(model));
}

/** The messages; those of Gemini's API in the form of the others, which the rules read. */
function turnsOf({ form, messages }: RequestFile): JsonObject[] {
  if (form !== 'gemini') return messages;
  return messages.flatMap((each) => readItem(each, form).map(({ message }) => ({ ...message })));
}

function noTiers(model: string | undefined): string {
  const example = `gw config set tiers.${model ?? 'gpt-5'} "strong: openai/gpt-5; fast: openai/gpt-5-mini; share=30%"`;
  return `No tiers are configured${model === undefined ? '' : ` for ${model}`}, so the score does not affect routing. For example: ${example}`;
}

function tierText(tier: TierAnswer | undefined, model: string): string {
  if (!tier) return `none: the request keeps ${model}`;
  const { decision, name, models, share } = tier;
  const { threshold, applied, because } = decision;
  const by =
    threshold === undefined ? '' : `, because the score is ${sideOf(decision)} ${threshold.toFixed(2)}`;
  if (applied) return `${name} (${models})${by}; decided by the ${because}`;
  const missing =
    share === undefined
      ? 'no share is set'
      : 'too few requests have been scored to know what the share selects';
  return `none: the request keeps ${model}, because ${missing}. It would be ${name} (${models})${by}`;
}

const sideOf = ({ tier }: TierDecision): string => (tier === 'strong' ? 'at least' : 'below');

function tierJson(
  { decision, name, models, modelsOf, share }: TierAnswer,
  planned: Plan['tier'],
): Record<string, unknown> {
  const { applied, threshold, because } = decision;
  const fields = { name, models, applied, threshold: threshold ?? null, share: share ?? null, by: because };
  if (!planned) return fields;
  const { chosen, by, lacks } = planned;
  return {
    ...fields,
    name: chosen,
    models: modelsOf[chosen] ?? null,
    applied: planned.applied,
    threshold: planned.threshold,
    by,
    ...(lacks === undefined ? {} : { lacks }),
  };
}

type Cheaper = NonNullable<NonNullable<Plan['budget']>['cheaper']>[number];
type Fact = [name: string, value: string];

/** The targets in the order in which they would be tried, and whether the budgets have room. */
function planFacts(plan: Plan | Refused): Fact[] {
  if ('refused' in plan) return [['target', `none: gw would refuse the request, ${plan.refused}`]];
  const { targets, budget } = plan;
  const next = targets.filter(({ state }) => state === 'next');
  const others = targets.filter(({ state }) => state !== 'next');
  const names = next.map(servedBy).join(', then ') || 'none now: the client is told when to retry';
  return [
    ['target', `${names}${worstCase(next[0])}`],
    ...others.map((target, i): Fact => [i === 0 ? 'skips' : '', `${servedBy(target)}: ${whyNot(target)}`]),
    ...(budget
      ? [['budget', `${budget.outcome}; ${budget.name} has ${usdText(budget.room_usd)} left`] as Fact]
      : []),
    ...(budget?.cheaper ?? []).map((each): Fact => ['limit', cheaperText(each)]),
    ...(budget?.need ? [['need', needText(budget.need)] as Fact] : []),
  ];
}

/** Where a budget at its limit sends the request, as long as it is no part of a conversation that went down before. */
function cheaperText({ budget, from_percent: from, goes, models }: Cheaper): string {
  const names = models.join(', else ') || 'none of its models can serve this request';
  return `${goes ? 'it goes to' : `from ${from}% of`} ${goes ? names : `${budget} on: ${names}`}`;
}

/** The daemon's choice of a tier, which considers required capabilities, the conversation's tier and the budget. */
function plannedTier(
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

function routeJson(plan: Plan | Refused): Record<string, unknown> {
  if ('refused' in plan) return { refused: plan.refused };
  const { route, targets, saved_tokens, budget } = plan;
  return { why: route, targets, saved_tokens, budget };
}

function noPlan(model: string | undefined): string {
  return model === undefined
    ? 'The file names no model, so its targets are not known. To name one: gw route --model MODEL FILE'
    : 'gw is not running, so the targets and the room in budgets are not known. Run: gw start';
}

function worstCase(target: Plan['targets'][number] | undefined): string {
  if (!target) return '';
  const { worst_case_usd: most } = target;
  return most === undefined ? ', at an unknown price' : `, for at most ${usdText(most)}`;
}

function whyNot({ state, because = '', wait_ms }: Plan['targets'][number]): string {
  if (state === 'passed_over') return because;
  const seconds = Math.ceil((wait_ms ?? 0) / 1_000);
  return `cooling down for ${seconds} s (${because.replaceAll('_', ' ')})`;
}

/**
 * Answers `{"id","messages"}` with `{"id","score"}`. Lines with feedback are for scorers that learn; gw reads over them
 * if `online` says that they come.
 */
export function scorer({ online }: { online: boolean }): (question: JsonObject) => JsonObject | undefined {
  return ({ id, messages, feedback }) => {
    if (feedback === undefined) return { id, score: scorePrompt(promptIn(messages, 'the line')).score };
    if (!online) throw usageError('feedback requires --online');
    return undefined;
  };
}

/** Reads a prompt from unchecked messages. `where` names the input in errors. */
function promptIn(messages: unknown, where: string): ScoredMessage[] {
  return messagesIn(messages, where).map(({ role, content }) => ({
    role: typeof role === 'string' ? role : '',
    content,
  }));
}
