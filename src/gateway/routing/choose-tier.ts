import { JsonSyntaxError } from '../../json/scan.ts';
import { costOf } from '../../pricing/cost.ts';
import { decideTier, observe, type TierDecision } from '../../tiering/decide-tier.ts';
import { scorePrompt } from '../../tiering/score.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext, TierChoice } from '../context/request-context.ts';
import type { RoutedTarget, Target } from '../state/resolver.ts';
import type { TierOffer } from '../state/tiers.ts';
import { affinityOf, targetsWithAffinity } from './affinity.ts';
import { identifyConversation, type PromptMessages, promptMessages } from './identify-conversation.ts';
import { isStored, lackOfTarget, requirementsOf } from './requirements.ts';
import { canTranslateTo } from './translate.ts';

type TierParts = Pick<Gateway, 'clock' | 'router' | 'tiers' | 'catalog' | 'responsesSupport'>;

/** Chooses the tier of a request for a model with tiers, and returns that tier's targets. */
export function chooseTier(
  gateway: TierParts,
  context: RequestContext,
  offer: TierOffer,
): readonly RoutedTarget[] {
  if (
    context.options.route === false ||
    !TIERED.has(context.wire.endpoint) ||
    isStored(context, [...offer.weak, ...offer.strong], offer.untiered[0])
  )
    return offer.untiered;
  try {
    return choose(gateway, context, offer);
  } catch (error) {
    // Invalid JSON inside the request is left for the provider to refuse.
    if (error instanceof JsonSyntaxError) return offer.untiered;
    throw error;
  }
}

/** The endpoints whose requests are turns of a conversation. */
const TIERED: ReadonlySet<string> = new Set(['chat/completions', 'responses', 'messages', 'gemini']);

function choose(gateway: TierParts, context: RequestContext, offer: TierOffer): readonly RoutedTarget[] {
  const turns = promptMessages(context);
  context.conversation = identifyConversation(context);
  if (!turns || turns.length === 0 || !context.conversation) return offer.untiered;
  const reachable = offer.weak.filter((target) => canTranslateTo(context.wire, target));
  const needs = requirementsOf(context);
  const lacks = reachable.map((target) => lackOfTarget(target, needs));
  const capable = reachable.filter((_, i) => lacks[i]?.length === 0);
  const choice = decide(gateway, context, { offer, turns, capable, lacks: lacks[0] ?? ['endpoint'] });
  if (!choice) return offer.untiered;
  context.tier = choice;
  if (!choice.decision.applied) return offer.untiered;
  if (choice.decision.tier === 'strong') return offer.strong;
  return offer.weakFirst.filter((target) => !offer.weak.includes(target) || capable.includes(target));
}

interface DecisionInput {
  offer: TierOffer;
  turns: PromptMessages;
  /** The weak tier's targets that can serve the request. */
  capable: readonly RoutedTarget[];
  /** Capabilities missing from the weak tier's first target. */
  lacks: readonly string[];
}

function decide(
  gateway: TierParts,
  context: RequestContext,
  { offer, turns, capable, lacks }: DecisionInput,
): TierChoice | undefined {
  const { tiers, router } = gateway;
  const { project, request, conversation } = context;
  const [strong] = offer.strong;
  const [weak] = capable;
  if (!strong || !conversation) return undefined;
  const inToolLoop = turns.at(turns.length - 1).role === 'tool';
  const scored = scorePrompt([lastQuestion(turns)]);
  const window = tiers.windowOf(project.id, request.model);
  const share = tiers.shareOf(project.name) ?? offer.share;
  const decision: TierDecision = weak
    ? decideTier({
        score: scored.score,
        window,
        ...(share === undefined ? {} : { share }),
        spentOfCap: tiers.spentOfCap(project.id),
        conversation: conversation.key,
        pinned: conversation.isNew ? undefined : router.stickiness.get(conversation.key)?.tier,
        inToolLoop,
        isSealed: isSealed(gateway, context, offer),
        ...switchingCosts(gateway, context, { strong, weak }),
      })
    : { tier: 'strong', applied: true, because: 'needs' };
  // A tool loop repeats the same question, which counts once.
  if (!inToolLoop && !context.options.explain) observe(window, scored.score);
  const name = decision.tier === 'strong' ? 'strong' : offer.weakName;
  return { decision, scored, name, lacks: weak ? [] : lacks, strong };
}

/** Whether the request returns encrypted reasoning of one tier's account that the other tier's would refuse. */
function isSealed(gateway: TierParts, context: RequestContext, offer: TierOffer): boolean {
  const last = context.conversation && gateway.router.stickiness.get(context.conversation.key)?.target;
  const affinity = affinityOf(gateway, context, last);
  if (affinity?.kind !== 'encrypted_reasoning') return false;
  const targets = [...offer.strong, ...offer.weak];
  return targetsWithAffinity(gateway, context, { targets, affinity }).length < targets.length;
}

/** Turns at the end to search for the question; only a long tool loop has more. */
const MAX_TURNS_SEARCHED = 200;

/** The user's last message. */
function lastQuestion(turns: PromptMessages): { role: string; content?: unknown } {
  for (let i = turns.length - 1; i >= Math.max(0, turns.length - MAX_TURNS_SEARCHED); i--) {
    const turn = turns.at(i);
    if (turn.role === 'user') return turn;
  }
  return { role: 'user' };
}

/** Output tokens of a typical answer, to compare costs. */
const TYPICAL_OUTPUT = 500;
const BYTES_PER_TOKEN = 4;

/** Savings of the weak tier on this turn, and its loss because the prompt is not in its provider's cache. */
function switchingCosts(
  { catalog, clock }: Pick<Gateway, 'clock' | 'catalog'>,
  { request }: RequestContext,
  { strong, weak }: { strong: Target; weak: Target },
): { savingNanoUsd: number; cacheLossNanoUsd: number } {
  const cardOf = ({ provider, model }: Target) => catalog().find(provider.name, model, clock.now());
  const [strongCard, weakCard] = [cardOf(strong), cardOf(weak)];
  if (!strongCard || !weakCard) return { savingNanoUsd: 0, cacheLossNanoUsd: 0 };
  const inputTokens = Math.ceil(request.bytes.length / BYTES_PER_TOKEN);
  const outputTokens = Math.min(request.maxOutputTokens ?? TYPICAL_OUTPUT, TYPICAL_OUTPUT);
  const usage: TokenUsage = { ...NO_USAGE, inputTokens, outputTokens };
  const cached: TokenUsage = { ...usage, cachedInputTokens: inputTokens };
  return {
    savingNanoUsd: costOf(usage, strongCard) - costOf(usage, weakCard),
    cacheLossNanoUsd: costOf(usage, strongCard) - costOf(cached, strongCard),
  };
}
