import { isObject } from '../../../json/object.ts';
import type { Reasoning } from '../../conversation/conversation.ts';
import { definedFields, isEmpty, type Json, lookUp } from '../../json.ts';

/** Models that think by a level, and those that think by a budget: https://ai.google.dev/gemini-api/docs/thinking */
const HAS_LEVELS = /gemini-(?:[3-9]|\d\d)/;
const HAS_BUDGET = /gemini-(?:2\.5|(?:flash|flash-lite|pro)-latest)/;
/** Has the levels low and high alone, or these and medium. */
const FEW_LEVELS = /gemini-3-pro/;
const IS_PRO = /-pro/;

/** As Google's own OpenAI-compatible endpoint has them: https://ai.google.dev/gemini-api/docs/openai#thinking */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
/** The least that a model takes which can't do without. */
const LEAST_OF_PRO = 128;
const MOST = 24_576;

/** The thinking that a client asks for; undefined for the model's own. */
export function thinkingConfig(reasoning: Reasoning | undefined, model: string): Json | undefined {
  if (!reasoning) return undefined;
  const { budgetTokens, isAdaptive } = reasoning;
  const effort = reasoning.effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens));
  if (effort === undefined && !isAdaptive) return undefined;
  const includeThoughts = effort === 'none' ? undefined : true;
  if (HAS_LEVELS.test(model))
    return definedFields({ includeThoughts, thinkingLevel: levelOf(effort, model) });
  if (!HAS_BUDGET.test(model)) return undefined;
  const budget =
    effort === undefined ? undefined : Math.min(budgetTokens ?? lookUp(BUDGETS, effort) ?? MOST, MOST);
  const thinkingBudget = budget !== undefined && IS_PRO.test(model) ? Math.max(budget, LEAST_OF_PRO) : budget;
  return definedFields({ includeThoughts, thinkingBudget });
}

function levelOf(effort: string | undefined, model: string): string | undefined {
  switch (effort) {
    case undefined:
      return undefined;
    case 'none':
    case 'minimal':
      return IS_PRO.test(model) ? 'low' : 'minimal';
    case 'low':
      return 'low';
    case 'medium':
      return FEW_LEVELS.test(model) ? 'high' : 'medium';
    default:
      return 'high';
  }
}

/** What a budget is called where there are efforts alone. */
const effortOf = (budget: number): string => (budget <= 2_048 ? 'low' : budget <= 8_192 ? 'medium' : 'high');

/** The thinking that a client of Gemini's asks for. A budget below zero leaves its length to the model. */
export function readThinking(config: unknown): Reasoning | undefined {
  if (!isObject(config) || isEmpty(config)) return undefined;
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = config;
  if (typeof level === 'string') return { effort: level.toLowerCase() };
  if (typeof budget !== 'number' || budget < 0)
    return includeThoughts === true ? { isAdaptive: true } : undefined;
  return { effort: budget === 0 ? 'none' : effortOf(budget) };
}
