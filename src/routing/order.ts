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
  /** The candidate that served this conversation last. */
  sticky?: Candidate | undefined;
  /** Puts the sticky candidate before better priorities: only it can read the conversation's encrypted parts. */
  isPinned?: boolean;
}

/** A request's candidates, grouped by current availability. */
export interface Order {
  /** Available, in the order of attempts. */
  ready: Candidate[];
  /** Currently blocked, soonest recovery first. */
  blocked: { target: Candidate; availability: Availability & { ready: false } }[];
  /** Lack a capability that the request needs. */
  unfit: { target: Candidate; lacks: (keyof Needs)[] }[];
}

/**
 * Orders candidates by priority. Within a priority the conversation's sticky candidate comes first, then the others by
 * repeated power of two choices. Health and priority take precedence over stickiness.
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
    const peers = left.filter(({ priority }) => priority === first);
    const next =
      peers.find((target) => targetId(target) === stickyId) ??
      pickOfTwo(peers, { weightOf: ({ weight }) => weight, cost: health.costOf, random });
    if (!next) break;
    ranked.push(next);
    left = left.filter((target) => target !== next);
  }
  return ranked;
}
