import { pickOfTwo } from './balance.ts';
import { type Candidate, targetId } from './candidate.ts';
import type { Availability, Health } from './health.ts';
import { type Capabilities, lackOf, type Needs } from './needs.ts';

export interface OrderOptions {
  targets: readonly Candidate[];
  health: Pick<Health, 'availabilityOf' | 'costOf'>;
  random: () => number;
  needs?: Needs;
  capabilitiesOf?: (target: Candidate) => Capabilities;
  /** The target that served this conversation last. */
  sticky?: Candidate | undefined;
  /** It goes before targets of a better priority too, as what the conversation is made of is best read there. */
  isPinned?: boolean;
}

/** The targets of one request, sorted by what can be done with them now. */
export interface Order {
  /** To be tried in this order. */
  ready: Candidate[];
  /** Kept out for now; the first one back comes first. */
  blocked: { target: Candidate; availability: Availability & { ready: false } }[];
  /** Not able to serve this request at all. */
  unfit: { target: Candidate; lacks: (keyof Needs)[] }[];
}

/**
 * Orders targets: those that can't serve the request are out, then the lowest priority number comes first; among
 * equals the one that the conversation sticks to, then the better of two drawn at random, again and again. Health
 * and priority win over stickiness.
 */
export function orderTargets(options: OrderOptions): Order {
  const { targets, health, needs = {}, capabilitiesOf = () => ({}) } = options;
  const order: Order = { ready: [], blocked: [], unfit: [] };
  const ready: Candidate[] = [];
  for (const target of targets) {
    const lacks = lackOf(capabilitiesOf(target), needs);
    const availability = health.availabilityOf(target);
    if (lacks.length > 0) order.unfit.push({ target, lacks });
    else if (availability.ready) ready.push(target);
    else order.blocked.push({ target, availability });
  }
  order.blocked.sort((a, b) => a.availability.waitMs - b.availability.waitMs);
  order.ready = rank(ready, options);
  return order;
}

function rank(
  targets: readonly Candidate[],
  { sticky, isPinned, health, random }: OrderOptions,
): Candidate[] {
  const stickyId = sticky && targetId(sticky);
  const ranked = isPinned ? targets.filter((target) => targetId(target) === stickyId) : [];
  let left = targets.filter((target) => !ranked.includes(target));
  while (left.length > 0) {
    const first = Math.min(...left.map(({ priority }) => priority));
    const candidates = left.filter(({ priority }) => priority === first);
    const picked =
      candidates.find((target) => targetId(target) === stickyId) ??
      pickOfTwo(candidates, { weightOf: ({ weight }) => weight, cost: health.costOf, random });
    if (!picked) break;
    ranked.push(picked);
    left = left.filter((target) => target !== picked);
  }
  return ranked;
}
