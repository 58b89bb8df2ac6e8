import { GwError } from '../../errors.ts';
import { fallNow } from '../../store/ledger/terms.ts';
import { type AdmitParts, admit, FallsBack, TargetFull } from '../admission/admit.ts';
import type { AdmissionRequest } from '../admission/errors.ts';
import { measureLarge } from '../admission/measure-prompt.ts';
import type { Gateway } from '../context/gateway.ts';
import { cheaperTargets, type FallbackParts, fallenContext } from '../routing/fallback.ts';
import { type Route, route, routeElsewhere } from '../routing/route.ts';
import { type TranslationState, translateRequest } from '../routing/translate.ts';
import type { RoutedAttempt } from './attempt.ts';

type FirstAttemptParts = AdmitParts & FallbackParts & TranslationState & Pick<Gateway, 'calendar' | 'router'>;

/**
 * The first attempt: the request in the words of its target's API, with a hold for its worst case there. Where a budget
 * of that target has no room, it goes to the next one; where a budget at its limit names cheaper models, to the first of
 * those that all budgets have room for. Where none has, it keeps to its own model.
 */
export async function firstAttempt(gateway: FirstAttemptParts, chosen: Route): Promise<RoutedAttempt> {
  const { context } = chosen;
  const mayFallBack =
    context.options.route !== false && gateway.budgetScopes().fallbacks.has(context.project.id);
  if (!mayFallBack) return attemptAmong(gateway, chosen, {});
  const { conversation } = context;
  const before = conversation && gateway.router.fallen.get(conversation.key)?.fallen;
  try {
    return await attemptAmong(gateway, chosen, { mayFallBack: { before } });
  } catch (error) {
    if (!(error instanceof FallsBack)) throw error;
    return (await fallBack(gateway, chosen, error)) ?? attemptAmong(gateway, chosen, {});
  }
}

type Ways = Pick<AdmissionRequest, 'mayFallBack'>;

/** The attempt at the route's target, or at the next of its targets that has room. */
async function attemptAmong(gateway: FirstAttemptParts, chosen: Route, ways: Ways): Promise<RoutedAttempt> {
  let route = chosen;
  while (route.targets.length > 1) {
    try {
      return await attemptAt(gateway, route, { ...ways, hasOthers: true });
    } catch (error) {
      if (!(error instanceof TargetFull)) throw error;
      const next = routeElsewhere(gateway, route);
      if (!next) break;
      route = next;
    }
  }
  return attemptAt(gateway, route, ways);
}

async function attemptAt(
  gateway: FirstAttemptParts,
  route: Route,
  ways: Ways & { hasOthers?: boolean },
): Promise<RoutedAttempt> {
  const { context, target, why } = route;
  const form = translateRequest(context, target, gateway);
  const translated = form instanceof Promise ? await form : form;
  const measured = measureLarge(translated, target);
  if (measured) await measured;
  const admitted = await admit(gateway, translated, target, gateway.calendar(), ways);
  return { context: translated, target, admitted, why, route };
}

/** The attempt at the cheaper models of the budgets at their limit; undefined if there is none that fits. */
async function fallBack(
  gateway: FirstAttemptParts,
  chosen: Route,
  { standings }: FallsBack,
): Promise<RoutedAttempt | undefined> {
  for (const { budget } of standings) {
    const context = fallenContext(chosen, budget);
    const targets = cheaperTargets(gateway, context, chosen.targets, budget.fallback);
    if (targets.length === 0) continue;
    try {
      const attempt = await attemptAmong(gateway, route(gateway, context, targets), {});
      const { conversation } = context;
      const fallen = { budgetId: budget.id, ...fallNow(budget, gateway.clock.now()) };
      if (conversation)
        gateway.router.fallen.set(conversation.key, { target: attempt.route.target.candidate, fallen });
      return attempt;
    } catch (error) {
      // None of them has room, all are rate limited, or their API can't express the request.
      if (!(error instanceof TargetFull || error instanceof GwError)) throw error;
    }
  }
  return undefined;
}
