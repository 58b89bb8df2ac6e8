import { GwError } from '../errors.ts';
import { formatRequestId } from '../ids.ts';
import { type NanoUsd, usdNumber } from '../money.ts';
import type { Candidate } from '../routing/candidate.ts';
import { orderTargets } from '../routing/next-attempt.ts';
import type { LoweredLimit, RecordedNeed } from '../store/ledger/record.ts';
import { exhausted, fallsBack, isAlerted, remainingOf, type Standing } from '../store/ledger/standing.ts';
import { budgetName, countsRequest, targetName } from '../store/ledger/terms.ts';
import { needResponse } from '../store/requests/detail-columns.ts';
import type { WireRequest } from '../wire/request/wire-request.ts';
import { type AdmitParts, wholeOf } from './admission/admit.ts';
import { fittingHold } from './admission/fitting-hold.ts';
import { countInput, isCountable, leastInput } from './admission/input-tokens.ts';
import { heldNeed, leastNeed, loweredLimit } from './admission/need.ts';
import { type IfCounted, ifCounted } from './admission/provider-count.ts';
import type { Quote } from './admission/quote.ts';
import { quoteRequest } from './admission/quote-request.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';
import { tierDetail } from './routing/describe-tier.ts';
import { cheaperTargets } from './routing/fallback.ts';
import { candidatesAmong, orderingOf, targetAt, whyOf } from './routing/route.ts';
import { type TranslationState, tryTranslate } from './routing/translate.ts';
import type { RoutedTarget } from './state/resolver.ts';

type ExplainParts = AdmitParts & TranslationState & Pick<Gateway, 'router'>;
type CheaperOf = (names: string) => readonly RoutedTarget[];

/** A target's current state for the request. */
interface ExplainedTarget {
  provider: string;
  model: string;
  /** The targets in state `next` are tried in their order. */
  state: 'next' | 'left_alone' | 'passed_over';
  because?: string;
  wait_ms?: number;
  /** Undefined when the price is unknown. */
  worst_case_usd?: number;
}

/** Answers how gw would handle the request now. Runs the same stages as for any request, without side effects. */
export async function explain(
  gateway: Gateway,
  context: RequestContext,
  targets: readonly RoutedTarget[],
): Promise<void> {
  const explained = await explainTargets(gateway, context, targets);
  const mayFallBack =
    context.options.route !== false && gateway.budgetScopes().fallbacks.has(context.project.id);
  const [next] = explained;
  const first = targets.find(
    ({ provider, model }) => provider.name === next?.provider && model === next.model,
  );
  const translated = first && (await tryTranslate(context, first, gateway));
  const body = JSON.stringify({
    object: 'gw.route',
    model: context.request.model,
    route: context.options.route === false ? 'off' : whyOf(context),
    tier: context.tier ? tierDetail(context.tier, undefined) : null,
    targets: explained,
    saved_tokens: context.savedTokens,
    budget:
      first && translated && !(translated instanceof GwError)
        ? await explainBudget(gateway, translated, first, (names) =>
            mayFallBack ? cheaperTargets(gateway, context, targets, names) : [],
          )
        : null,
  });
  const { response, id } = context.exchange;
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-service-request-id': formatRequestId(id),
  });
  response.end(body);
}

async function explainTargets(
  gateway: ExplainParts,
  context: RequestContext,
  all: readonly RoutedTarget[],
): Promise<ExplainedTarget[]> {
  const [first] = all;
  if (!first) return [];
  // Without routing the first target is tried once, whatever its health.
  if (context.options.route === false)
    return [await explainTarget(gateway, context, first, { state: 'next' })];
  const { targets, isPinned } = candidatesAmong(gateway, context, all, first);
  const { ready, blocked } = orderTargets(orderingOf(gateway, context, { targets, isPinned }));
  const explained: ExplainedTarget[] = [];
  const explain = async (candidate: Candidate, availability: Availability) => {
    explained.push(await explainTarget(gateway, context, targetAt(targets, candidate), availability));
  };
  for (const candidate of ready) await explain(candidate, { state: 'next' });
  for (const { target: candidate, availability } of blocked) {
    const { because, waitMs } = availability;
    // A single target is tried even while it is blocked.
    const state = all.length > 1 ? 'left_alone' : 'next';
    await explain(candidate, { state, because, wait_ms: Math.ceil(waitMs) });
  }
  for (const { provider, model } of all.filter((target) => !targets.includes(target))) {
    const because = 'cannot take this request';
    explained.push({ provider: provider.name, model, state: 'passed_over', because });
  }
  return explained;
}

type Availability = Pick<ExplainedTarget, 'state' | 'because' | 'wait_ms'>;

async function explainTarget(
  gateway: ExplainParts,
  context: RequestContext,
  target: RoutedTarget,
  availability: Availability,
): Promise<ExplainedTarget> {
  const { provider, model } = target;
  const names = { provider: provider.name, model };
  const translated = await tryTranslate(context, target, gateway);
  if (translated instanceof GwError) return { ...names, state: 'passed_over', because: translated.message };
  const least = leastInput(gateway, translated, target);
  const { amount, unpriced } = quoteRequest(gateway, translated, target)(least.tokens, least.by);
  return { ...names, ...availability, ...(unpriced ? {} : { worst_case_usd: usdNumber(amount) }) };
}

/** Whether the budgets have room for the request, by the same steps as admission. */
async function explainBudget(
  gateway: ExplainParts,
  context: RequestContext,
  target: RoutedTarget,
  cheaperOf: CheaperOf,
): Promise<object | null> {
  const { caller, origin, session } = context;
  const request = {
    keyId: caller.keyId,
    repo: origin.repo,
    agent: session.agent,
    session: session.sessionId,
    provider: target.provider.name,
    model: target.model,
    labels: context.options.labels,
  };
  const standings = (await gateway.ledger.standings(context.project.id)).filter(({ budget }) =>
    countsRequest(budget, request),
  );
  if (standings.length === 0) return null;
  const tightest = standings.reduce((least, each) => (remainingOf(each) < remainingOf(least) ? each : least));
  const room = remainingOf(tightest);
  const quoteFor = quoteRequest(gateway, context, target);
  const least = leastInput(gateway, context, target);
  const bound = quoteFor(least.tokens, least.by);
  const needsExactCount = !bound.unpriced && bound.amount > room && isCountable(context, target);
  const counted = needsExactCount ? await countInput(gateway, context, target, bound) : undefined;
  const quote = counted ? quoteFor(counted.tokens, counted.by) : bound;
  return {
    name: budgetName(tightest.budget),
    room_usd: usdNumber(Math.max(0, room)),
    needs_usd: usdNumber(quote.amount),
    ...outcomeOf(gateway, {
      quote,
      request: context.request,
      standings,
      room,
      byCount: ifCounted(gateway, context, target, quoteFor),
    }),
    ...cheaperModels(gateway, { standings, whole: wholeOf(context.request, quote), cheaperOf }),
  };
}

/** The cheaper models that budgets name, and whether the request would go there. */
function cheaperModels(
  { clock }: Pick<Gateway, 'clock'>,
  { standings, whole, cheaperOf }: { standings: readonly Standing[]; whole: NanoUsd; cheaperOf: CheaperOf },
) {
  const cheaper = standings
    .filter(({ budget }) => budget.onLimit === 'fallback')
    .map((standing) => ({
      budget: budgetName(standing.budget),
      from_percent: standing.budget.fallbackPercent,
      goes: fallsBack(standing, whole, { before: undefined, now: clock.now() }),
      models: cheaperOf(standing.budget.fallback).map(({ provider, model }) =>
        targetName({ provider: provider.name, model }),
      ),
    }));
  return cheaper.length > 0 ? { cheaper } : {};
}

interface BudgetOutcome {
  outcome: string;
  /** As the request's record would have it. */
  need?: ReturnType<typeof needResponse>;
  max_output_tokens?: LoweredLimit;
}

interface BudgetQuestion {
  quote: Quote;
  request: WireRequest;
  standings: readonly Standing[];
  room: NanoUsd;
  byCount: IfCounted;
}

function outcomeOf(
  gateway: Pick<Gateway, 'settings'>,
  { quote, request, standings, room, byCount }: BudgetQuestion,
): BudgetOutcome {
  if (quote.unpriced) return { outcome: 'refused: its price is not known' };
  const hold = fittingHold(gateway, quote);
  if (quote.amount === 0 || quote.amount <= room)
    return { outcome: 'admitted', ...shown(heldNeed(request, quote, hold)) };
  const fitted = hold.fitInto(room);
  if (fitted) {
    const need = shown(heldNeed(request, quote, fitted));
    const lowered = loweredLimit(quote, fitted.outputTokens, request.maxOutputTokens);
    const unless =
      lowered && byCount.isWorth(quote, lowered.sent, room)
        ? ', or more by the input tokens that the provider counts'
        : '';
    return lowered
      ? {
          outcome: `admitted, cut to ${lowered.sent} output tokens${unless}`,
          ...need,
          max_output_tokens: lowered,
        }
      : { outcome: `admitted, cut to ${fitted.calls} calls of tools`, ...need };
  }
  const need = shown(leastNeed(quote, quote.least, request.maxOutputTokens));
  const full = exhausted(standings, quote.least);
  if (!full) return { outcome: 'waits for running requests to end', ...need };
  const counted = byCount.least(quote, isAlerted(full));
  const mayFit = counted !== undefined && !exhausted(standings, counted);
  return {
    outcome: mayFit
      ? 'refused, unless it fits by the input tokens that the provider counts'
      : 'refused: no room in this period',
    ...need,
  };
}

const shown = (need: RecordedNeed | undefined): Pick<BudgetOutcome, 'need'> =>
  need ? { need: needResponse(need) } : {};
