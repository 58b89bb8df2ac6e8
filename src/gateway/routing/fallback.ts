import { JsonSyntaxError } from '../../json/scan.ts';
import type { BudgetTerms } from '../../store/ledger/terms.ts';
import { budgetName, targetName } from '../../store/ledger/terms.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import { affinityOf, targetsWithAffinity } from './affinity.ts';
import { isStored, lackOfTarget, requirementsOf } from './requirements.ts';
import type { Route } from './route.ts';
import { canTranslateTo } from './translate.ts';

export type FallbackParts = Pick<Gateway, 'resolver' | 'router' | 'responsesSupport'>;

/** The request on its way to the cheaper models of a budget. */
export function fallenContext({ context, target }: Route, budget: BudgetTerms): RequestContext {
  const { tier: _tier, ...rest } = context;
  const from = targetName({ provider: target.provider.name, model: target.model });
  return { ...rest, fallback: { from, budget: { id: budget.id, name: budgetName(budget) } } };
}

/**
 * The targets of a budget's cheaper models that can serve a request, in the budget's order. Without those that are known
 * to lack what it needs, and those that can't read what another account has stored or encrypted for it.
 */
export function cheaperTargets(
  gateway: FallbackParts,
  context: RequestContext,
  asked: readonly RoutedTarget[],
  names: string,
): readonly RoutedTarget[] {
  const { wire, conversation } = context;
  const [owner] = asked;
  try {
    const needs = requirementsOf(context);
    const capable = gateway.resolver
      .findAll(names, wire.family)
      .filter((target) => !asked.some((other) => isSame(other, target)))
      .filter((target) => canTranslateTo(wire, target) && lackOfTarget(target, needs).length === 0)
      .filter((target) => !isStored(context, [target], owner));
    const { fallen, stickiness } = gateway.router;
    const last = conversation && (fallen.get(conversation.key) ?? stickiness.get(conversation.key))?.target;
    const affinity = affinityOf(gateway, context, last);
    if (!affinity) return capable;
    const allowed = targetsWithAffinity(gateway, context, { targets: [...asked, ...capable], affinity });
    return capable.filter((target) => allowed.includes(target));
  } catch (error) {
    // Invalid JSON inside the request is left for the provider to refuse.
    if (error instanceof JsonSyntaxError) return [];
    throw error;
  }
}

const isSame = (one: RoutedTarget, other: RoutedTarget): boolean =>
  one.provider.name === other.provider.name && one.model === other.model;
