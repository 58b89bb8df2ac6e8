/**
 * Parses providers' `usage` objects. Field names distinguish three ways of counting input:
 * - Chat Completions, `prompt_tokens`: the total, including cache reads and writes.
 * - Responses, `input_tokens` with details: the same.
 * - Anthropic's Messages, `input_tokens`, `cache_read_input_tokens` and `cache_creation_input_tokens`: they add up to
 *   the total.
 *
 * A count is a non-negative integer, including 0. Details that are anything else (null, a string, a fraction, negative)
 * are ignored. Without totals for input and output, the usage is unknown. Parts that exceed their total, such as cached
 * tokens, are clamped to it, so that parts always sum up.
 */
import { NO_USAGE, type TokenUsage } from '../usage.ts';
import { count, type Fields, fields, first, isStated } from './payload-fields.ts';

const BESIDE_TOTAL = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'];

interface InputCounts {
  total: number;
  cached: number;
  written: number;
  written1h: number;
  audio: number;
  cachedAudio: number;
}

/** The usage of one of the models that worked on an answer; undefined for the one that the answer names. */
export interface ModelUsage {
  model: string | undefined;
  usage: TokenUsage;
}

/**
 * The tokens that a provider reports in its parsed `usage`; undefined without totals for input and output. Anthropic's
 * streams report usage in two events, which must be merged first, the later over the earlier.
 */
export function readUsage(payload: unknown): TokenUsage | undefined {
  return usageByModel(payload)?.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
}

/** The same by model, for prices: Anthropic's `iterations` may be of several. */
export function usageByModel(payload: unknown): ModelUsage[] | undefined {
  const raw = fields(payload);
  const totals = readTotals(raw);
  if (!totals || !Array.isArray(raw.iterations)) return totals && [{ model: undefined, usage: totals }];
  const iterations = raw.iterations.flatMap((iteration) => {
    const { type, model } = fields(iteration);
    const usage = readTotals(fields(iteration));
    const name = typeof model === 'string' ? model : undefined;
    return usage ? [{ model: name, usage, isBeside: BESIDE.has(type) }] : [];
  });
  const within = iterations.filter(({ isBeside }) => !isBeside);
  const rest = within.reduce((left, { usage }) => without(left, usage), totals);
  return [{ model: undefined, usage: rest }, ...iterations];
}

/**
 * The iterations that the totals exclude: https://platform.claude.com/docs/en/build-with-claude/compaction and
 * .../agents-and-tools/tool-use/advisor-tool. All others, such as those of a model that declined, they include.
 */
const BESIDE: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);

function readTotals(raw: Fields): TokenUsage | undefined {
  const input = readInput(raw);
  const output = input && readOutput(raw, input.total);
  return output && splitInput(input, output);
}

function readInput(raw: Fields): InputCounts | undefined {
  if (isStated(raw.prompt_tokens)) return withinTotal(raw, raw.prompt_tokens, raw.prompt_tokens_details);
  if (BESIDE_TOTAL.some((name) => isStated(raw[name]))) return besideTotal(raw);
  return withinTotal(raw, raw.input_tokens, raw.input_tokens_details ?? raw.input_token_details);
}

function withinTotal(raw: Fields, stated: unknown, statedDetails: unknown): InputCounts | undefined {
  const total = count(stated);
  if (total === undefined) return undefined;
  const details = fields(statedDetails);
  return {
    total,
    // In order: OpenAI; Perplexity's Responses; DeepSeek; Moonshot; older xAI models; proxies of Anthropic.
    cached: first(
      details.cached_tokens,
      details.cache_read_input_tokens,
      raw.prompt_cache_hit_tokens,
      raw.cached_tokens,
      raw.cached_prompt_text_tokens,
      raw.cache_read_input_tokens,
    ),
    // In order: OpenRouter and OpenAI; Perplexity's Responses; proxies of Anthropic.
    written: first(
      details.cache_write_tokens,
      details.cache_creation_tokens,
      details.cache_creation_input_tokens,
      raw.cache_creation_input_tokens,
    ),
    written1h: first(fields(raw.cache_creation).ephemeral_1h_input_tokens),
    audio: first(details.audio_tokens),
    cachedAudio: first(fields(details.cached_tokens_details).audio_tokens),
  };
}

function besideTotal(raw: Fields): InputCounts | undefined {
  const fresh = count(raw.input_tokens);
  if (fresh === undefined) return undefined;
  const lifetimes = fields(raw.cache_creation);
  const written1h = first(lifetimes.ephemeral_1h_input_tokens);
  const written5m = first(lifetimes.ephemeral_5m_input_tokens);
  const written = Math.max(first(raw.cache_creation_input_tokens), written5m + written1h);
  const cached = first(raw.cache_read_input_tokens);
  return { total: fresh + cached + written, cached, written, written1h, audio: 0, cachedAudio: 0 };
}

function splitInput(input: InputCounts, output: OutputUsage): TokenUsage {
  const cached = Math.min(input.cached, input.total);
  const written = Math.min(input.written, input.total - cached);
  const written1h = Math.min(input.written1h, written);
  // Without a figure for cached audio, all audio counts as uncached, which is dearer.
  const freshAudio = Math.min(
    input.audio - Math.min(input.cachedAudio, input.audio),
    input.total - cached - written,
  );
  return {
    inputTokens: input.total,
    cachedInputTokens: cached,
    cacheWriteTokens: written - written1h,
    cacheWrite1hTokens: written1h,
    audioInputTokens: freshAudio,
    cachedAudioInputTokens: Math.min(input.audio - freshAudio, cached),
    outputTokens: output.outputTokens,
    reasoningTokens: output.reasoningTokens,
    audioOutputTokens: output.audioOutputTokens,
  };
}

type OutputUsage = Pick<TokenUsage, 'outputTokens' | 'reasoningTokens' | 'audioOutputTokens'>;

/** Whether a `usage` has an output count, or a total that implies it. */
export function statesOutput(payload: unknown): boolean {
  const raw = fields(payload);
  return [raw.completion_tokens, raw.output_tokens, raw.total_tokens].some(isStated);
}

/** Embeddings report no output and have none. An output count that can't be read must follow from the total. */
function readOutput(raw: Fields, inputTokens: number): OutputUsage | undefined {
  const stated = raw.completion_tokens ?? raw.output_tokens;
  const total = count(raw.total_tokens);
  if (isStated(stated) && count(stated) === undefined && total === undefined) return undefined;
  const details = fields(
    raw.completion_tokens_details ?? raw.output_tokens_details ?? raw.output_token_details,
  );
  const reasoning = first(details.reasoning_tokens, details.thinking_tokens, raw.reasoning_tokens);
  // xAI and Gemini exclude reasoning from the completion, but include it in the total.
  let output = Math.max(first(stated), (total ?? 0) - inputTokens);
  if (total === undefined && reasoning > output) output += reasoning;
  // Perplexity's deep research excludes reasoning and citations from both.
  if (isStated(raw.citation_tokens)) output += reasoning + first(raw.citation_tokens);
  return {
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
    audioOutputTokens: Math.min(first(details.audio_tokens), output),
  };
}

const NAMES = Object.keys(NO_USAGE) as (keyof TokenUsage)[]; // NO_USAGE has exactly these keys.

function addUsage(sum: TokenUsage, part: TokenUsage): TokenUsage {
  const added = { ...sum };
  for (const name of NAMES) added[name] += part[name];
  return added;
}

/** The usage without a part of it; nothing of what the part has more of. */
function without(usage: TokenUsage, part: TokenUsage): TokenUsage {
  const left = { ...usage };
  for (const name of NAMES) left[name] = Math.max(0, left[name] - part[name]);
  return left;
}
