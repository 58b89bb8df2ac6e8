import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { costOf } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { rateAt } from '../../pricing/rate.ts';
import { type CacheMiss, FLAGS, type MissCause } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { CachedPrompt } from '../context/cached-prompts.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Target } from '../state/resolver.ts';
import { billedCard } from './meter.ts';
import type { Metered, Metering } from './metered.ts';
import {
  type ChangedPlace,
  changedPlace,
  commonSize,
  comparePrompts,
  type PromptDifference,
  sizeOfAll,
} from './prompt-difference.ts';

/** Automatic caching of a provider, for prompts without cache marks. */
interface AutomaticCache {
  minTokens: number;
  stepTokens: number;
  ttlMs: number;
}

const MINUTES_5 = 5 * 60_000;
const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** https://platform.openai.com/docs/guides/prompt-caching: from 1,024 tokens in steps of 128, 5 idle minutes at least. */
const OPENAI: AutomaticCache = { minTokens: 1_024, stepTokens: 128, ttlMs: MINUTES_5 };
/** https://api-docs.deepseek.com/guides/kv_cache: in units of 64 tokens, kept for hours. */
const DEEPSEEK: AutomaticCache = { minTokens: 64, stepTokens: 64, ttlMs: 2 * HOUR };

/** Models that cache long prompts of their own accord have a price for cached input; these have one for other reasons. */
const NOT_AUTOMATIC = /gemini-(?:1|2\.0)|qwen/i;

/** Models whose cache has what requests mark, and that report what they write: later breakpoints look back 20 blocks. */
const isMarked = ({ model }: Target): boolean => /claude/i.test(model);
/** https://platform.claude.com/docs/en/build-with-claude/prompt-caching */
const LOOKBACK_BLOCKS = 20;
/** No provider but DeepSeek caches less. */
const MIN_TOKENS = OPENAI.minTokens;
const STEP_TOKENS = OPENAI.stepTokens;

/** The part of a prompt in its provider's cache once it is answered. */
interface Cached {
  tokens: number;
  ttlMs: number;
}

/** State of the session's cache before the answer. */
interface CacheHistory {
  /** The provider has read from its cache before. */
  hasRead: boolean;
  /** Cache lifetime of the prompt that this one continues. */
  keptMs: number | undefined;
  /** The request asks for `prompt_cache_retention: 24h`. */
  isKeptADay: boolean;
}

/** The cached part of a prompt once it is answered. Providers without rules of their own are taken for OpenAI. */
function cachedAfter(
  target: Target,
  usage: TokenUsage,
  card: PriceCard | undefined,
  { hasRead, keptMs, isKeptADay }: CacheHistory,
): Cached {
  const { provider, model } = target;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
  const reported = cachedInputTokens + cacheWriteTokens + cacheWrite1hTokens;
  if (isMarked(target)) {
    const writtenMs = cacheWriteTokens > 0 ? MINUTES_5 : cacheWrite1hTokens > 0 ? HOUR : undefined;
    return { tokens: reported, ttlMs: writtenMs ?? keptMs ?? MINUTES_5 };
  }
  const { minTokens, stepTokens, ttlMs } = provider.name === 'deepseek' ? DEEPSEEK : OPENAI;
  const isAutomatic = !NOT_AUTOMATIC.test(model) && isCheaper(card);
  const isCached = hasRead || cachedInputTokens > 0 || isAutomatic;
  const whole = inputTokens < minTokens ? 0 : inputTokens - (inputTokens % stepTokens);
  const tokens = isCached ? Math.max(reported, whole) : reported;
  return { tokens, ttlMs: isKeptADay ? DAY : ttlMs };
}

/** Whether input from the cache costs less than other input, so that there is a cache. */
function isCheaper(card: PriceCard | undefined): boolean {
  return card !== undefined && rateAt(card.cachedInput, 0) < rateAt(card.input, 0);
}

/** A miss, and the first place that differs where a change is its cause. */
export interface FoundMiss extends CacheMiss {
  place: ChangedPlace | undefined;
}

/** An answered attempt. */
type Answered = Pick<Metering, 'context' | 'target' | 'admitted' | 'sentAt' | 'relay'>;

/** Flags of usage that the provider did not report. */
const UNREPORTED = FLAGS.estimated | FLAGS.unmetered;

/**
 * What an answered request could have read from the provider's cache and didn't, by the session's earlier prompts; keeps
 * its prompt for later ones. The blocks have been hashed for the hold: without them nothing is compared. Never fails.
 */
export function findCacheMiss(
  gateway: Pick<Gateway, 'cachedPrompts' | 'clock' | 'warn'>,
  answered: Answered,
  { usage, flags }: Metered,
): FoundMiss | undefined {
  const { context } = answered;
  const { split } = context.request;
  const prompt = split?.bytes === context.request.bytes ? split.blocks : undefined;
  if (!prompt || prompt.previous !== undefined || usage.inputTokens === 0 || flags & UNREPORTED)
    return undefined;
  const { sessionId } = context.session;
  const session = `${context.project.id} ${sessionId === '' ? context.caller.keyId : `s ${sessionId}`}`;
  try {
    const earlier = gateway.cachedPrompts.of(session);
    const mostCached = earlier.reduce((most, { cachedTokens }) => Math.max(most, cachedTokens), 0);
    const found =
      usage.cachedInputTokens < mostCached
        ? compare(gateway.clock, answered, prompt, usage, earlier)
        : { base: earlier.findLast(({ cachedTokens }) => cachedTokens === mostCached) };
    keep(gateway, session, { answered, prompt, usage, base: found.base });
    return 'miss' in found ? found.miss : undefined;
  } catch (error) {
    gateway.warn(`a prompt could not be compared with the one before it: ${messageOf(error)}`);
    return undefined;
  }
}

const nameOf = ({ target: { provider, model } }: Answered): string => `${provider.name} ${model}`;

/** Keeps a prompt in the place of the one that it continues. */
function keep(
  { cachedPrompts, clock }: Pick<Gateway, 'cachedPrompts' | 'clock'>,
  session: string,
  found: { answered: Answered; prompt: PromptBlocks; usage: TokenUsage; base: CachedPrompt | undefined },
): void {
  const { answered, prompt, usage, base } = found;
  const { context, target, admitted, sentAt, relay } = answered;
  const name = nameOf(answered);
  const before = base?.target === name ? base : undefined;
  const hasRead = usage.cachedInputTokens > 0 || before?.hasRead === true;
  const { tokens, ttlMs } = cachedAfter(target, usage, admitted.quote.card, {
    hasRead,
    keptMs: before?.ttlMs,
    isKeptADay: context.request.members.some(
      ({ key, start, end }) =>
        key === 'prompt_cache_retention' && context.request.bytes.toString('latin1', start, end) === '"24h"',
    ),
  });
  if (tokens === 0) return;
  const last = before?.blocks.at(-1);
  const isContinued = before !== undefined && prompt.blocks[before.blocks.length - 1]?.id === last?.id;
  const kept = {
    target: name,
    blocks: prompt.blocks,
    bytes: prompt.bytes,
    inputTokens: usage.inputTokens,
    cachedTokens: Math.min(tokens, usage.inputTokens),
    hasRead,
    ttlMs,
    sentAt,
    sentTimeMs: clock.now() - (clock.monotonic() - sentAt),
    answeredAt: relay.firstByteAt ?? clock.monotonic(),
  };
  cachedPrompts.keep(session, kept, isContinued ? before : undefined);
}

/** Finds the earlier prompt that has the most of this one, and what was missed of it. */
function compare(
  clock: Clock,
  answered: Answered,
  prompt: PromptBlocks,
  usage: TokenUsage,
  earlier: readonly CachedPrompt[],
): { base: CachedPrompt | undefined; miss: FoundMiss | undefined } {
  const ids = new Set(prompt.blocks.map(({ id }) => id));
  const base = chooseBase(answered, ids, earlier);
  if (!base) return { base, miss: undefined };
  const difference = comparePrompts(base, prompt, ids);
  const isOther = base.target !== nameOf(answered);
  const scale = isOther ? tokenizerScale(base, difference, prompt, usage) : 1;
  const removedTokens = (difference.removedSize * base.inputTokens * scale) / difference.baseSize;
  const could = Math.min(Math.round(base.cachedTokens * scale - removedTokens), usage.inputTokens);
  const lost = could - usage.cachedInputTokens;
  // Removed tokens are estimated by bytes; automatic caches are read in steps.
  const isLost = could >= MIN_TOKENS && lost > Math.max(STEP_TOKENS, 0.3 * removedTokens);
  if (!isLost) return { base, miss: undefined };
  const { cause, place } = explain(clock, answered, prompt, usage, base, difference);
  return {
    base,
    miss: { tokens: lost, nanoUsd: extraCost(usage, lost, billedCard(answered)), cause, place },
  };
}

/** A prompt for another model counts if this one continues it; one for the same model has the preference. */
function chooseBase(
  answered: Answered,
  ids: ReadonlySet<string>,
  earlier: readonly CachedPrompt[],
): CachedPrompt | undefined {
  let same: { base: CachedPrompt; size: number } | undefined;
  let other: { base: CachedPrompt; size: number } | undefined;
  for (const base of earlier) {
    if (base.answeredAt > answered.sentAt) continue;
    const size = commonSize(base, ids);
    if (base.target === nameOf(answered)) {
      if (size > 0 && size >= (same?.size ?? 0)) same = { base, size };
    } else if (size > sizeOfAll(base.blocks) / 2 && size >= (other?.size ?? 0)) other = { base, size };
  }
  return other && (same?.size ?? 0) < other.size / 2 ? other.base : same?.base;
}

/** Tokens of the request's model per token of the base's model; 1 if about equal. */
function tokenizerScale(
  base: CachedPrompt,
  { baseSize }: PromptDifference,
  prompt: PromptBlocks,
  { inputTokens }: TokenUsage,
): number {
  const scale = inputTokens / sizeOfAll(prompt.blocks) / (base.inputTokens / baseSize);
  return Math.abs(scale - 1) < 0.02 ? 1 : scale;
}

function explain(
  clock: Clock,
  answered: Answered,
  prompt: PromptBlocks,
  { cachedInputTokens }: TokenUsage,
  base: CachedPrompt,
  { at, baseAt, baseSize, headSize }: PromptDifference,
): { cause: MissCause; place: ChangedPlace | undefined } {
  if (base.target !== nameOf(answered))
    return { cause: 'other_model', place: { field: 'model', messageIndex: null, offset: null } };
  const headTokens = Math.min((headSize * base.inputTokens) / baseSize, base.cachedTokens);
  const marked = isMarked(answered.target);
  // The part before the change could be read, unless the cache has lost it too.
  const isHeadLost = headTokens >= MIN_TOKENS && headTokens - cachedInputTokens > headTokens / 2;
  const sentTimeMs = clock.now() - (clock.monotonic() - answered.sentAt);
  const idleMs = Math.max(answered.sentAt - base.sentAt, sentTimeMs - base.sentTimeMs);
  const isExpired = idleMs > base.ttlMs;
  const isChanged =
    baseAt < base.blocks.length && (headSize / baseSize) * base.inputTokens < base.cachedTokens;
  if (isExpired && (isHeadLost || !isChanged || cachedInputTokens === 0))
    return { cause: 'idle_past_ttl', place: undefined };
  const { members } = answered.context.request;
  if (isChanged && !(isHeadLost && !marked)) {
    const place = changedPlace(prompt, members, at, base, baseAt);
    return { cause: causeOf(prompt, at, base, baseAt), place };
  }
  const option = changedOption(prompt, base);
  if (option !== undefined)
    return { cause: 'unknown', place: { field: option, messageIndex: null, offset: null } };
  // Claude's cache reads up to the request's marks.
  const hasOtherMarks = marked && answered.context.request.cacheWrites === 'none';
  const isFar = marked && prompt.blocks.length - at > LOOKBACK_BLOCKS;
  if (hasOtherMarks || isFar)
    return { cause: 'unknown', place: { field: 'cache_control', messageIndex: null, offset: null } };
  return { cause: 'provider_dropped', place: undefined };
}

/** By the earlier of two places: where a prompt lacks the last tool, its first instruction stands in the tool's place. */
function causeOf(prompt: PromptBlocks, at: number, base: CachedPrompt, baseAt: number): MissCause {
  const roles = [prompt.blocks[at]?.role, base.blocks[baseAt]?.role];
  if (roles.includes('tool')) return 'tools_changed';
  return roles.includes('system') ? 'system_changed' : 'message_edited';
}

/** The option that changed; providers keep other prompts for some. */
function changedOption({ blocks }: PromptBlocks, base: CachedPrompt): string | undefined {
  const isOption = ({ kind }: { kind: string }) => kind === 'option';
  const before = new Set(base.blocks.filter(isOption).map(({ id }) => id));
  const after = blocks.filter(isOption);
  const changed = after.find(({ id }) => !before.has(id));
  if (changed) return changed.name;
  const ids = new Set(after.map(({ id }) => id));
  return base.blocks.find((block) => isOption(block) && !ids.has(block.id))?.name;
}

/** Cost of the tokens beyond the price of a cache read: cache writes first, as they come first. */
function extraCost(usage: TokenUsage, tokens: number, card: PriceCard | undefined): number {
  if (!card) return 0;
  const read: TokenUsage = Object.assign({}, usage);
  let left = tokens;
  for (const part of ['cacheWrite1hTokens', 'cacheWriteTokens'] as const) {
    const written = Math.min(left, usage[part]);
    read[part] -= written;
    left -= written;
  }
  read.cachedInputTokens += tokens;
  return Math.max(0, costOf(usage, card) - costOf(read, card));
}
