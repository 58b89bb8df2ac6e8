import { GwError } from '../errors.ts';
import { formatRequestId } from '../ids.ts';
import { type NanoUsd, usdNumber } from '../money.ts';
import { orderTargets } from '../routing/order.ts';
import type { Standing } from '../store/ledger/standing.ts';
import { budgetName } from '../store/ledger/terms.ts';
import { fittingHold } from './admission/fit.ts';
import { exactInput, inputBound, isCountable } from './admission/input-tokens.ts';
import type { Quote } from './admission/quote.ts';
import { quoteRequest } from './admission/quote-request.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';
import { tierDetail } from './routing/describe-tier.ts';
import { candidatesAmong, orderingOf, targetAt, whyOf } from './routing/route.ts';
import { translateRequest } from './routing/translate.ts';
import type { RoutedTarget } from './state/resolve.ts';

/** A target as the request would find it now. */
interface ExplainedTarget {
  provider: string;
  model: string;
  /** `next`: the first attempt, and those after it, in their order. */
  state: 'next' | 'left_alone' | 'passed_over';
  because?: string;
  wait_ms?: number;
  /** Left out where nobody knows it. */
  worst_case_usd?: number;
}

/** What would become of a request at this moment. It goes through the stages as any other, and leaves no trace. */
export async function explain(
  gateway: Gateway,
  context: RequestContext,
  targets: readonly RoutedTarget[],
): Promise<void> {
  const explained = explainTargets(gateway, context, targets);
  const [next] = explained;
  const first = targets.find(
    ({ provider, model }) => provider.name === next?.provider && model === next.model,
  );
  const said = first && saidTo(gateway, context, first);
  const body = JSON.stringify({
    object: 'gw.route',
    model: context.request.model,
    route: context.options.route === false ? 'off' : whyOf(context),
    tier: context.tier ? tierDetail(context.tier, undefined) : null,
    targets: explained,
    saved_tokens: context.savedTokens,
    budget: first && said && !(said instanceof GwError) ? await explainBudget(gateway, said, first) : null,
  });
  const { response, id } = context.exchange;
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-service-request-id': formatRequestId(id),
  });
  response.end(body);
}

function explainTargets(
  gateway: Gateway,
  context: RequestContext,
  all: readonly RoutedTarget[],
): ExplainedTarget[] {
  const [first] = all;
  if (!first) return [];
  // Asked once, whatever is known of it.
  if (context.options.route === false) return [explained(gateway, context, first, { state: 'next' })];
  const { targets, isPinned } = candidatesAmong(gateway, context, all, first);
  const { ready, blocked } = orderTargets(orderingOf(gateway, context, { targets, isPinned }));
  return [
    ...ready.map((candidate) => explained(gateway, context, targetAt(targets, candidate), { state: 'next' })),
    ...blocked.map(({ target: candidate, availability: { because, waitMs } }) =>
      explained(gateway, context, targetAt(targets, candidate), {
        // With nobody else to ask it is asked all the same.
        state: all.length > 1 ? 'left_alone' : 'next',
        because,
        wait_ms: Math.ceil(waitMs),
      }),
    ),
    ...all
      .filter((target) => !targets.includes(target))
      .map(
        ({ provider, model }): ExplainedTarget => ({
          provider: provider.name,
          model,
          state: 'passed_over',
          because: 'cannot take this request',
        }),
      ),
  ];
}

function explained(
  gateway: Gateway,
  context: RequestContext,
  target: RoutedTarget,
  found: Pick<ExplainedTarget, 'state' | 'because' | 'wait_ms'>,
): ExplainedTarget {
  const { provider, model } = target;
  const named = { provider: provider.name, model };
  const said = saidTo(gateway, context, target);
  if (said instanceof GwError) return { ...named, state: 'passed_over', because: said.message };
  const { amount, unpriced } = quoteRequest(gateway, said, target)(inputBound(said, target));
  return { ...named, ...found, ...(unpriced ? {} : { worst_case_usd: usdNumber(amount) }) };
}

/** The request in the words of the target's wire, or why that cannot be. */
function saidTo(gateway: Gateway, context: RequestContext, target: RoutedTarget): RequestContext | GwError {
  try {
    return translateRequest(context, target, gateway);
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
}

const roomOf = ({ budget, posted, pending }: Standing): NanoUsd => budget.capNanoUsd - posted - pending;

/** Whether the budgets would let it through, by the same steps as an admission. */
async function explainBudget(
  gateway: Gateway,
  context: RequestContext,
  target: RoutedTarget,
): Promise<object | null> {
  const { repo } = context.origin;
  const standings = (await gateway.ledger.standings(context.project.id)).filter(
    ({ budget }) => budget.repo === '' || budget.repo === repo,
  );
  if (standings.length === 0) return null;
  const tightest = standings.reduce((least, each) => (roomOf(each) < roomOf(least) ? each : least));
  const room = roomOf(tightest);
  const quoteFor = quoteRequest(gateway, context, target);
  const cheap = quoteFor(inputBound(context, target));
  const isTight = !cheap.unpriced && cheap.amount > room && isCountable(context, target);
  const quoted = isTight ? quoteFor(await exactInput(gateway, context, target, cheap.inputTokens)) : cheap;
  return {
    name: budgetName(tightest.budget),
    room_usd: usdNumber(Math.max(0, room)),
    needs_usd: usdNumber(quoted.amount),
    outcome: outcomeOf(gateway, quoted, standings, room),
  };
}

function outcomeOf(gateway: Gateway, quoted: Quote, standings: readonly Standing[], room: NanoUsd): string {
  if (quoted.unpriced) return 'refused: its price is not known';
  if (quoted.amount === 0 || quoted.amount <= room) return 'admitted';
  const limited = fittingHold(gateway, quoted);
  if (limited.fitInto(room) !== undefined) {
    const { outputTokens = quoted.outputTokens } = limited;
    return outputTokens < quoted.outputTokens
      ? `admitted, cut to ${outputTokens} output tokens`
      : `admitted, cut to ${limited.calls} calls of tools`;
  }
  const left = Math.min(...standings.map(({ budget, posted }) => budget.capNanoUsd - posted));
  return quoted.least > left ? 'refused: no room in this period' : 'waits for running requests to end';
}
