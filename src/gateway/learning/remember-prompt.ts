import { messageOf } from '../../errors.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { isDated, isSameModel } from '../../wire/answer/served-model.ts';
import { type Admitted, isSearchLeftOut } from '../admission/admitted.ts';
import { FOR_TOOLS } from '../admission/edit-bound.ts';
import { blocksOf } from '../admission/measure-prompt.ts';
import { scopeOf } from '../admission/prompt-scope.ts';
import { headOf } from '../answer/opening.ts';
import type { AttemptResult, RoutedAttempt } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { countedPrompt } from './counted-prompt.ts';
import { rememberSeals } from './remember-seals.ts';
import { mayBeContinued, rememberStored } from './remember-stored.ts';

/** What this stage uses of the gateway. */
type RememberParts = Pick<Gateway, 'promptBases' | 'continuedResponses' | 'queue' | 'budgetScopes' | 'warn'>;

/**
 * Remembers how many tokens the provider counted for a prompt, once the client has its answer, and what it billed for
 * sealed reasoning. Requests that wait for room are tried again, as the count may bound theirs.
 */
export function rememberPrompt(
  gateway: RememberParts,
  attempt: RoutedAttempt,
  { relay }: Pick<AttemptResult, 'relay'>,
  { outcome, usage, flags }: Settlement,
): void {
  const { context, target } = attempt;
  if (outcome !== 'ok' || (flags & FLAGS.estimated) !== 0 || relay.usageIs === 'opening') return;
  const isStored = mayBeContinued(context, target);
  // A request whose blocks nobody has asked for is small.
  const isOfUse = isStored || context.request.split?.blocks || isShort(attempt.admitted);
  const prompt = isOfUse ? blocksOf(context) : undefined;
  const scope = prompt && scopeOf(context, target, prompt);
  if (!scope) return;
  try {
    rememberSeals(gateway.promptBases, relay, usage);
    const head = headOf(relay);
    if (head === undefined) return;
    if (!isSameModel(target.model, head.model)) {
      gateway.promptBases.forget(scope.model);
      gateway.continuedResponses.forget(scope.model);
      return;
    }
    const tokens = usage.inputTokens + leftOutTokens(attempt);
    const counted = { tokens, contextTokens: contextOf(target) };
    const base = countedPrompt(gateway.promptBases, scope, prompt, counted);
    if (!base) return;
    const lifetimeMs = isDated(target.model) ? Number.POSITIVE_INFINITY : UNDATED_MS;
    const source = { served: head.model, lifetimeMs };
    if (isStored && head.id !== undefined)
      rememberStored(gateway, { scope, prompt, target, base, usage }, head.id, source);
    if (prompt.previous === undefined) gateway.promptBases.remember(scope, base, source);
    gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes()));
  } catch (error) {
    gateway.warn(`a prompt could not be remembered: ${messageOf(error)}`);
  }
}

/** What is left has room for so few more of the like that a lower bound may decide over one of them. */
const FEW = 32;

const isShort = ({ remaining, heldNanoUsd }: Admitted): boolean =>
  remaining !== null && remaining < FEW * heldNanoUsd;

/** Upper bound of what the searches would have added that went out with none: the blocks are the client's. */
function leftOutTokens(attempt: RoutedAttempt): number {
  if (!isSearchLeftOut(attempt)) return 0;
  const removed = attempt.context.request.serverTools?.removal ?? [];
  return removed.reduce((sum, { start, end }) => sum + end - start, FOR_TOOLS);
}

/** A name without a date may be given to a new model at any time; a deployment follows within hours. */
const UNDATED_MS = 3_600_000;

function contextOf({ provider, model }: Target): number | undefined {
  return modelLimits(provider.name, model)?.contextTokens;
}
