import { terminalOf } from '../../terminal/terminal.ts';
import { clean, pad } from '../../terminal/text.ts';
import type { TierDecision } from '../../tiering/decide-tier.ts';
import { scorePrompt } from '../../tiering/score.ts';
import { type Context, note, sayJson, tell } from '../context.ts';
import { readRequestFile } from '../input/request-file.ts';
import { type Plan, planFor } from './plan.ts';
import { noPlan, planFacts, plannedTier, routeJson } from './plan-text.ts';
import { promptIn } from './score-lines.ts';
import { type TierAnswer, tierFor } from './tier.ts';

interface ExplainOptions {
  project: string;
  json?: boolean | undefined;
}

/** Prints how much a request needs a strong model, where it would go, and why. Sends nothing. */
export async function explain(context: Context, file: string, options: ExplainOptions): Promise<void> {
  const { project, json } = options;
  const request = await readRequestFile(context, file);
  const { messages, model } = request;
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
  const { palette } = terminalOf(context.stdout, context.env);
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

function sideOf({ tier }: TierDecision): string {
  return tier === 'strong' ? 'at least' : 'below';
}

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
