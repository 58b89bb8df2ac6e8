import { JsonSyntaxError } from '../../json/scan.ts';
import { costOf } from '../../pricing/cost.ts';
import type { Needs } from '../../routing/needs.ts';
import { decideTier, type TierDecision } from '../../tiering/decide-tier.ts';
import { readPrompt } from '../../tiering/prompt.ts';
import { scorePrompt } from '../../tiering/score.ts';
import { observe } from '../../tiering/share.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { TierChoice } from '../context/tier-choice.ts';
import type { RoutedTarget, Target } from '../state/resolve.ts';
import type { TierOffer } from '../state/tiers.ts';
import { affinityOf, targetsWithAffinity } from './affinity.ts';
import { identifyConversation } from './identify-conversation.ts';
import { type PromptMessages, promptMessages } from './messages.ts';
import { lackOfTarget, requirementsOf } from './requirements.ts';
import { canTranslateTo } from './translate.ts';

/** Decides on the tier of a request for a model that has some; answers the targets of that tier. */
export function chooseTier(
  gateway: Gateway,
  context: RequestContext,
  offer: TierOffer,
): readonly RoutedTarget[] {
  if (context.options.route === false || !TIERED.has(context.wire.endpoint) || isStored(context, offer))
    return offer.request;
  try {
    return choose(gateway, context, offer);
  } catch (error) {
    // A text inside that is no JSON is the provider's to judge.
    if (error instanceof JsonSyntaxError) return offer.request;
    throw error;
  }
}

/** Not what a client makes of a conversation in between, such as a shorter one. */
const TIERED: ReadonlySet<string> = new Set(['chat/completions', 'responses', 'messages']);

/**
 * What a provider keeps of a conversation nobody else has: what goes on from there stays with the model that was
 * asked for, and nothing begins elsewhere that may go on by its id.
 */
function isStored({ wire, request: { bytes, members } }: RequestContext, offer: TierOffer): boolean {
  if (wire.endpoint !== 'responses') return false;
  const jsonOf = (name: string) => {
    const member = members.find(({ key }) => key === name);
    return member ? bytes.toString('latin1', member.start, member.end) : 'null';
  };
  if (jsonOf('previous_response_id') !== 'null' || jsonOf('conversation') !== 'null') return true;
  const home = offer.request[0]?.provider;
  const isElsewhere = [...offer.weak, ...offer.strong].some(({ provider }) => provider !== home);
  return isElsewhere && jsonOf('store') !== 'false';
}

function choose(gateway: Gateway, context: RequestContext, offer: TierOffer): readonly RoutedTarget[] {
  const turns = promptMessages(context);
  context.conversation = identifyConversation(context);
  if (!turns || turns.length === 0 || !context.conversation) return offer.request;
  const reachable = offer.weak.filter((target) => canTranslateTo(context.wire, target));
  const needs = requirementsOf(context);
  const lacks = reachable.map((target) => lackOfTarget(target, needs));
  const fit = reachable.filter((_, i) => lacks[i]?.length === 0);
  const choice = decide(gateway, context, { offer, turns, needs, fit, lacks: lacks[0] ?? ['endpoint'] });
  if (!choice) return offer.request;
  context.tier = choice;
  if (!choice.decision.applied) return offer.request;
  if (choice.decision.tier === 'strong') return offer.strong;
  return offer.weakFirst.filter((target) => !offer.weak.includes(target) || fit.includes(target));
}

interface Asking {
  offer: TierOffer;
  turns: PromptMessages;
  needs: Needs;
  /** The targets of the cheaper tier that can take it. */
  fit: readonly RoutedTarget[];
  lacks: readonly string[];
}

function decide(
  gateway: Gateway,
  context: RequestContext,
  { offer, turns, needs, fit, lacks }: Asking,
): TierChoice | undefined {
  const { tiers, router, learners } = gateway;
  const { project, request, conversation } = context;
  const [strong] = offer.strong;
  const [weak] = fit;
  if (!strong || !conversation) return undefined;
  const inToolLoop = turns.at(turns.length - 1).role === 'tool';
  const prompt = readPrompt([questionIn(turns)]);
  const scored = scorePrompt(prompt, learners.of(project.name));
  const window = tiers.windowOf(project.id, request.model);
  const share = tiers.shareOf(project.name) ?? offer.share;
  const decision: TierDecision = weak
    ? decideTier({
        scored,
        window,
        ...(share === undefined ? {} : { share }),
        spentOfCap: tiers.spentOfCap(project.id),
        conversation: conversation.key,
        pinned: conversation.isNew ? undefined : router.stickiness.get(conversation.key)?.tier,
        inToolLoop,
        isSealed: isSealed(gateway, context, offer),
        ...costsOfChange(gateway, context, { strong, weak }),
      })
    : { tier: 'strong', applied: true, because: 'needs' };
  // A loop of tools asks the same question again and again.
  if (!inToolLoop && !context.options.explain) observe(window, scored.score);
  const name = decision.tier === 'strong' ? 'strong' : offer.weakName;
  return {
    decision,
    scored,
    name,
    lacks: weak ? [] : lacks,
    strong,
    weak: offer.weak,
    prompt,
    turns: turns.length,
    wantsJson: needs.jsonSchema === true,
  };
}

/** Whether it gives reasoning back that was sealed by one tier's account, and that the other's would refuse. */
function isSealed(gateway: Gateway, context: RequestContext, offer: TierOffer): boolean {
  const last = context.conversation && gateway.router.stickiness.get(context.conversation.key)?.target;
  const affinity = affinityOf(gateway, context, last);
  if (affinity?.kind !== 'encrypted_reasoning') return false;
  const targets = [...offer.strong, ...offer.weak];
  return targetsWithAffinity(gateway, context, { targets, affinity }).length < targets.length;
}

/** Of turns after the last question, which are few unless tools are called in a long loop. */
const MOST_LOOKED_AT = 200;

/** The last question of a person. */
function questionIn(turns: PromptMessages): { role: string; content?: unknown } {
  for (let i = turns.length - 1; i >= Math.max(0, turns.length - MOST_LOOKED_AT); i--) {
    const turn = turns.at(i);
    if (turn.role === 'user') return turn;
  }
  return { role: 'user' };
}

/** About what an answer takes, to compare what turns cost. */
const TYPICAL_OUTPUT = 500;
const BYTES_PER_TOKEN = 4;

/** What the cheaper tier saves on this turn, and what it costs that its provider's cache does not know the prompt. */
function costsOfChange(
  { catalog, clock }: Gateway,
  { request }: RequestContext,
  { strong, weak }: { strong: Target; weak: Target },
): { savingNanoUsd: number; cacheLossNanoUsd: number } {
  const cardOf = ({ provider, model }: Target) => catalog().find(provider.name, model, clock.now());
  const [dear, cheap] = [cardOf(strong), cardOf(weak)];
  if (!dear || !cheap) return { savingNanoUsd: 0, cacheLossNanoUsd: 0 };
  const inputTokens = Math.ceil(request.bytes.length / BYTES_PER_TOKEN);
  const outputTokens = Math.min(request.maxOutputTokens ?? TYPICAL_OUTPUT, TYPICAL_OUTPUT);
  const usage: TokenUsage = { ...NO_USAGE, inputTokens, outputTokens };
  const cached: TokenUsage = { ...usage, cachedInputTokens: inputTokens };
  return {
    savingNanoUsd: costOf(usage, dear) - costOf(usage, cheap),
    cacheLossNanoUsd: costOf(usage, dear) - costOf(cached, dear),
  };
}
