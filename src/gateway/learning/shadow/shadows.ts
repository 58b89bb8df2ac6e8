import type { ServerResponse } from 'node:http';
import { parseShare } from '../../../config/tiers.ts';
import { GwError, messageOf } from '../../../errors.ts';
import { type NanoUsd, parseUsd } from '../../../money.ts';
import type { Tier } from '../../../routing/tier.ts';
import type { Gateway } from '../../context/gateway.ts';
import type { Served, Shadows } from '../../context/shadows.ts';
import type { RoutedTarget } from '../../state/resolve.ts';
import { judgeAnswer } from '../rate-answer.ts';
import { askShadow } from './ask.ts';
import { isComparable } from './compare.ts';

export interface ShadowsOptions {
  gateway: () => Gateway;
  /** What shadows of a project have cost since a time, with what is held for those under way. */
  spentSince: (projectId: number, sinceMs: number) => NanoUsd;
  random: () => number;
}

const MOST_AT_ONCE = 2;
/** Longer ones would take the loop's time to be read and written once more. */
const MAX_REQUEST_BYTES = 256 * 1024;
const TIMEOUT_MS = 120_000;

export function createShadows({ gateway: gatewayNow, spentSince, random }: ShadowsOptions): Shadows {
  /** What is under way, and what ends it. */
  const running = new Map<AbortController, Promise<void>>();
  /** What those hold, or are about to. */
  let taken: NanoUsd = 0;
  let closed = false;

  async function ask(
    gateway: Gateway,
    served: Served,
    target: RoutedTarget,
    end: AbortController,
  ): Promise<void> {
    const { job, tier, signs, outputTokens } = served;
    const other: Tier = served.servedBy === 'weak' ? 'strong' : 'weak';
    const cancel = gateway.clock.after(TIMEOUT_MS, () => end.abort());
    let own: NanoUsd = 0;
    try {
      if (!maySpend(gateway, served)) return;
      const outcome = await askShadow(gateway, {
        job,
        served: signs,
        outputTokens,
        target,
        tier: other,
        takeRoom(more) {
          if (!hasRoom(gateway, job.project.id, taken + more)) return false;
          own = more;
          taken += own;
          return true;
        },
        isWithin: () => hasRoom(gateway, job.project.id, 0),
        signal: end.signal,
      });
      if (!outcome) return;
      const quality = judgeAnswer(outcome.signs, { json: tier.wantsJson, limited: true });
      gateway.lessons.paired(job.exchange.id, { tier: other, agrees: outcome.agrees, quality });
    } catch (error) {
      // What can't be asked there is no news; a database that can't be written is told elsewhere.
      if (!(error instanceof GwError)) gateway.warn(`the other tier could not be asked: ${messageOf(error)}`);
    } finally {
      cancel();
      taken -= own;
    }
  }

  function begin(gateway: Gateway, served: Served): void {
    const target = otherTarget(gateway, served);
    if (!target || running.size >= MOST_AT_ONCE || closed) return;
    const end = new AbortController();
    const asking = ask(gateway, served, target, end).finally(() => running.delete(end));
    running.set(end, asking);
  }

  function hasRoom(gateway: Gateway, projectId: number, more: NanoUsd): boolean {
    const cap = parseUsd(gateway.settings()['routing.shadow_budget']) ?? 0;
    const today = gateway.calendar().day(gateway.clock.now()).start;
    return spentSince(projectId, today) + more <= cap;
  }

  return {
    consider(served) {
      const gateway = gatewayNow();
      const share = parseShare(gateway.settings()['routing.shadow_share']);
      if (share === 0 || random() >= share || !isEligible(served)) return;
      whenAnswered(served.job.exchange.response, () => begin(gateway, served));
    },
    async close() {
      closed = true;
      for (const end of running.keys()) end.abort();
      await Promise.all(running.values());
    },
  };
}

/** A response is closed when its last byte was handed over. */
function whenAnswered(response: ServerResponse, then: () => void): void {
  if (response.closed) then();
  else response.once('close', then);
}

/** What was answered may have been the last that its project was to spend. */
function maySpend({ findProject }: Gateway, { job: { project } }: Served): boolean {
  const found = findProject(project.name);
  return found?.id === project.id && !found.paused;
}

/** The first healthy target of the tier that was not asked. */
function otherTarget({ router }: Gateway, { tier, servedBy }: Served): RoutedTarget | undefined {
  const others = servedBy === 'weak' ? tier.strong : tier.fit;
  return others.find(({ candidate }) => router.health.availabilityOf(candidate).ready);
}

/** Nothing that acts on the provider's side, and an answer that another can be held against. */
function isEligible({ job, tier, signs }: Served): boolean {
  const { serverTools, choices, bytes } = job.asked;
  return (
    serverTools === undefined &&
    choices === 1 &&
    bytes.length <= MAX_REQUEST_BYTES &&
    !tier.inToolLoop &&
    isComparable(signs)
  );
}
