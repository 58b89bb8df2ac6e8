import { messageOf } from '../../errors.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import { promptOf } from '../admission/measure-prompt.ts';
import { scopeOf } from '../admission/prompt-scope.ts';
import type { Relay } from '../answer/relay.ts';
import type { AttemptResult, RoutedAttempt } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf } from '../context/request-context.ts';
import type { BaseScope, PromptBases } from '../state/prompt-bases.ts';
import { rememberSeals } from './remember-seals.ts';
import { isDated, isSameModel, servedModel } from './served-model.ts';

/** What this stage uses of the gateway. */
type RememberParts = Pick<Gateway, 'promptBases' | 'queue' | 'repoBudgets' | 'warn'>;

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
  if (outcome !== 'ok' || (flags & FLAGS.estimated) !== 0 || relay.usageIs !== undefined) return;
  const prompt = context.request.split?.blocks && promptOf(context);
  const scope = prompt && scopeOf(context, target, prompt.key);
  if (!scope) return;
  setImmediate(() => {
    try {
      rememberSeals(gateway.promptBases, relay, usage);
      if (!isBase(prompt, attempt, usage.inputTokens)) return;
      const served = modelOf(relay);
      if (served === undefined || !isSameModel(target.model, served)) return;
      if (!isPlausible(gateway.promptBases, scope, prompt.blocks, usage.inputTokens)) return;
      gateway.promptBases.remember(scope, {
        prompt: prompt.blocks,
        tokens: usage.inputTokens,
        trailingSpace: trailingSpace(prompt),
        keepsReasoning: prompt.keepsReasoning,
        served,
        lifetimeMs: isDated(target.model) ? Number.POSITIVE_INFINITY : UNDATED_MS,
      });
      gateway.queue.wake(queueKeyOf(context, gateway.repoBudgets()));
    } catch (error) {
      gateway.warn(`a prompt could not be remembered: ${messageOf(error)}`);
    }
  });
}

/** A name without a date may be given to a new model at any time; a deployment follows within hours. */
const UNDATED_MS = 3_600_000;
/** Above this share of the context the provider may have cut the prompt. */
const MOST_OF_CONTEXT = 0.9;
/** No tokenizer packs more bytes of text into a token on average: a lower count leaves something out. */
const MAX_BYTES_PER_TOKEN = 16;

/** Whether the reported tokens mean this prompt as a whole. An answer that was begun by the client is no prompt. */
function isBase({ blocks }: PromptBlocks, { target }: RoutedAttempt, tokens: number): boolean {
  const last = blocks.at(-1);
  if (!last || last.role === 'assistant') return false;
  const contextTokens = modelLimits(target.provider.name, target.model)?.contextTokens;
  if (contextTokens !== undefined && tokens > MOST_OF_CONTEXT * contextTokens) return false;
  return tokens * MAX_BYTES_PER_TOKEN >= blocks.reduce((sum, block) => sum + textBytes(block), 0);
}

/** Bytes of text that the model surely reads. */
function textBytes({ kind, start, end, images, without }: PromptBlock): number {
  const isRead =
    images === 0 && (kind === 'system' || kind === 'user' || kind === 'assistant' || kind === 'result');
  return isRead ? end - start - without : 0;
}

/** False for a count below that of a prompt of which this one has every block: some providers leave out cached input. */
function isPlausible(
  bases: PromptBases,
  scope: BaseScope,
  blocks: readonly PromptBlock[],
  tokens: number,
): boolean {
  const numbers = bases.numbersOf(blocks);
  return bases.find(scope).every((base) => base.tokens <= tokens || !contains(numbers, base.blocks));
}

/** Whether a prompt has every block of a base, in order. */
function contains(prompt: Int32Array, base: Int32Array): boolean {
  let j = 0;
  for (let i = 0; i < prompt.length && j < base.length; i++) if (prompt[i] === base[j]) j++;
  return j === base.length;
}

const SPACE_AT_END = /(?:\\[nrt]|\s)+(?=")/g;

/** The longest run of white space at the end of any string in the last block. */
function trailingSpace({ bytes, blocks }: PromptBlocks): number {
  const last = blocks.at(-1);
  if (!last) return 0;
  let most = 0;
  for (const [run] of bytes.toString('latin1', last.start, last.end).matchAll(SPACE_AT_END))
    most = Math.max(most, run.length);
  return most;
}

function modelOf(relay: Relay): string | undefined {
  if (relay.isStream) return servedModel(relay.firstEvents, true);
  return relay.unsent && servedModel(relay.unsent, false);
}
