/**
 * Parses providers' `usage` objects. Field names distinguish three ways of counting input:
 * - Chat Completions, `prompt_tokens`: the total, including cache reads and writes.
 * - Responses, `input_tokens` with details: the same.
 * - Anthropic's Messages, `input_tokens`, `cache_read_input_tokens` and `cache_creation_input_tokens`: they add up to
 *   the total.
 *
 * A count is a non-negative integer, including 0. Details that are anything else (null, a string, a fraction, negative)
 * are ignored. Without totals for input and output, the usage is unknown. Cached and written tokens that exceed their
 * total lie beside it, as relays report them that copy Anthropic's `input_tokens`; other parts are clamped to theirs, so
 * that parts always sum up.
 */
import { NO_USAGE, type TokenUsage } from '../usage.ts';
import { count, type Fields, fields, first, isStated } from './payload-fields.ts';

const BESIDE_TOTAL = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'];

/** How a provider counts, where the fields don't tell. */
export interface UsageRules {
  /** Reasoning lies beside the completion and within `total_tokens`, as xAI and Gemini count. */
  reasoningBeside?: boolean;
  /** There is no output, so that `total_tokens` is the input: embeddings. */
  inputOnly?: boolean;
}

/** Where OpenAI's usage has the reasoning within the completion, xAI's and Gemini's has it beside. */
const REASONING_BESIDE = /grok|gemini/i;

/** The rules of a provider's model. `endpoint`: as in request records. */
export function usageRules(provider: string, model: string, endpoint?: string): UsageRules {
  return {
    reasoningBeside: provider === 'xai' || provider === 'google' || REASONING_BESIDE.test(model),
    inputOnly: endpoint === 'embeddings',
  };
}

/** The usage of one of the models that worked on an answer; undefined for the one that the answer names. */
export interface ModelUsage {
  model: string | undefined;
  usage: TokenUsage;
}

export interface UsageReport {
  usage: TokenUsage;
  /** The same by model: Anthropic's `iterations` may be of several. */
  parts: readonly ModelUsage[];
  /** Figures that contradict each other, in words. */
  conflicts: readonly string[];
}

/** The tokens that a provider reports in its parsed `usage`; undefined without totals for input and output. */
export function readUsage(payload: unknown, rules?: UsageRules): TokenUsage | undefined {
  return readReport(payload, rules)?.usage;
}

/**
 * The same with its parts and contradictions. Anthropic's streams report usage in two events, which must be merged first,
 * the later over the earlier.
 */
export function readReport(payload: unknown, rules: UsageRules = {}): UsageReport | undefined {
  const raw = fields(payload);
  const conflicts: string[] = [];
  const totals = readTotals(raw, rules, conflicts);
  if (!totals) return undefined;
  if (isStated(raw.superseded))
    conflicts.push(`the input fell from ${JSON.stringify(raw.superseded)} at the start of the answer`);
  const parts = Array.isArray(raw.iterations)
    ? partsOf(totals, raw.iterations, rules, conflicts)
    : [{ model: undefined, usage: totals }];
  return { usage: parts.map(({ usage }) => usage).reduce(addUsage), parts, conflicts };
}

/**
 * The iterations that the totals exclude: https://platform.claude.com/docs/en/build-with-claude/compaction and
 * .../agents-and-tools/tool-use/advisor-tool. All others, such as those of a model that declined, they include.
 */
const BESIDE: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);

function partsOf(
  totals: TokenUsage,
  listed: readonly unknown[],
  rules: UsageRules,
  conflicts: string[],
): ModelUsage[] {
  const iterations = listed.flatMap((iteration) => {
    const { type, model } = fields(iteration);
    const usage = readTotals(fields(iteration), rules, conflicts);
    const name = typeof model === 'string' ? model : undefined;
    return usage ? [{ model: name, usage, isBeside: BESIDE.has(type) }] : [];
  });
  const within = iterations.filter(({ isBeside }) => !isBeside);
  const rest = within.reduce((left, { usage }) => without(left, usage), totals);
  const sum = within.reduce((total, { usage }) => addUsage(total, usage), NO_USAGE);
  if (sum.inputTokens > totals.inputTokens || sum.outputTokens > totals.outputTokens)
    conflicts.push(
      `iterations of ${sum.inputTokens} in and ${sum.outputTokens} out exceed the totals of ${totals.inputTokens} and ${totals.outputTokens}`,
    );
  return [{ model: undefined, usage: rest }, ...iterations];
}

function readTotals(raw: Fields, rules: UsageRules, conflicts: string[]): TokenUsage | undefined {
  const input = readInput(raw, rules, conflicts);
  const output = input && readOutput(raw, input.total, rules, conflicts);
  return output && joinUsage(input, output);
}

interface InputCounts {
  total: number;
  cached: number;
  written: number;
  written1h: number;
  audio: number;
  cachedAudio: number;
  images: number;
  cachedImages: number;
}

function readInput(raw: Fields, { inputOnly }: UsageRules, conflicts: string[]): InputCounts | undefined {
  if (isStated(raw.prompt_tokens))
    return withinTotal(raw, raw.prompt_tokens, raw.prompt_tokens_details, conflicts);
  if (BESIDE_TOTAL.some((name) => isStated(raw[name]))) return besideTotal(raw);
  const total = inputOnly ? (raw.input_tokens ?? raw.total_tokens) : raw.input_tokens;
  return withinTotal(raw, total, raw.input_tokens_details ?? raw.input_token_details, conflicts);
}

function withinTotal(
  raw: Fields,
  stated: unknown,
  statedDetails: unknown,
  conflicts: string[],
): InputCounts | undefined {
  const total = count(stated);
  if (total === undefined) return undefined;
  const details = fields(statedDetails);
  const cachedKinds = fields(details.cached_tokens_details);
  // In order: OpenAI; Perplexity's Responses; DeepSeek; Moonshot; Mistral (which bills a tenth for them, by
  // https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching); older xAI models; proxies of Anthropic.
  const cached = first(
    details.cached_tokens,
    details.cache_read_input_tokens,
    raw.prompt_cache_hit_tokens,
    raw.cached_tokens,
    raw.num_cached_tokens,
    raw.cached_prompt_text_tokens,
    raw.cache_read_input_tokens,
  );
  // In order: OpenRouter and OpenAI; Perplexity's Responses; proxies of Anthropic.
  const written = first(
    details.cache_write_tokens,
    details.cache_creation_tokens,
    details.cache_creation_input_tokens,
    raw.cache_creation_input_tokens,
  );
  const isBeside = cached + written > total;
  if (isBeside) conflicts.push(`cached ${cached} and written ${written} exceed the input of ${total}`);
  return {
    total: isBeside ? total + cached + written : total,
    cached,
    written,
    // LiteLLM's; proxies of Anthropic.
    written1h: first(
      fields(details.cache_creation_token_details).ephemeral_1h_input_tokens,
      fields(raw.cache_creation).ephemeral_1h_input_tokens,
    ),
    audio: first(details.audio_tokens),
    cachedAudio: first(cachedKinds.audio_tokens),
    images: first(details.image_tokens),
    cachedImages: first(cachedKinds.image_tokens),
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
  const kinds = { audio: 0, cachedAudio: 0, images: 0, cachedImages: 0 };
  return { total: fresh + cached + written, cached, written, written1h, ...kinds };
}

/** Every field by its name: a spread costs several times the rest of the reading. */
function joinUsage(input: InputCounts, output: OutputUsage): TokenUsage {
  const { total, cached, written } = input;
  const written1h = Math.min(input.written1h, written);
  const fresh = total - cached - written;
  // Without a figure for cached audio or images, all of them count as uncached, which is dearer.
  const freshAudio = Math.min(input.audio - Math.min(input.cachedAudio, input.audio), fresh);
  const freshImages = Math.min(input.images - Math.min(input.cachedImages, input.images), fresh - freshAudio);
  const cachedAudio = Math.min(input.audio - freshAudio, cached);
  return {
    inputTokens: total,
    cachedInputTokens: cached,
    cacheWriteTokens: written - written1h,
    cacheWrite1hTokens: written1h,
    audioInputTokens: freshAudio,
    cachedAudioInputTokens: cachedAudio,
    imageInputTokens: freshImages,
    cachedImageInputTokens: Math.min(input.images - freshImages, cached - cachedAudio),
    outputTokens: output.outputTokens,
    reasoningTokens: output.reasoningTokens,
    audioOutputTokens: output.audioOutputTokens,
    imageOutputTokens: output.imageOutputTokens,
  };
}

type OutputUsage = Pick<
  TokenUsage,
  'outputTokens' | 'reasoningTokens' | 'audioOutputTokens' | 'imageOutputTokens'
>;

/** Whether a `usage` has an output count, or a total that implies it. */
export function statesOutput(payload: unknown): boolean {
  const raw = fields(payload);
  return [raw.completion_tokens, raw.output_tokens, raw.total_tokens].some(isStated);
}

/** Embeddings report no output and have none. An output count that can't be read must follow from the total. */
function readOutput(
  raw: Fields,
  inputTokens: number,
  rules: UsageRules,
  conflicts: string[],
): OutputUsage | undefined {
  const stated = raw.completion_tokens ?? raw.output_tokens;
  const total = count(raw.total_tokens);
  if (isStated(stated) && count(stated) === undefined && total === undefined) return undefined;
  const details = fields(
    raw.completion_tokens_details ?? raw.output_tokens_details ?? raw.output_token_details,
  );
  const reasoning = first(details.reasoning_tokens, details.thinking_tokens, raw.reasoning_tokens);
  const left = (total ?? 0) - inputTokens;
  // Perplexity's deep research excludes reasoning and citations from both.
  const output = isStated(raw.citation_tokens)
    ? Math.max(first(stated), left) + reasoning + first(raw.citation_tokens)
    : outputOf(first(stated), reasoning, left, rules, conflicts);
  const audio = Math.min(first(details.audio_tokens), output);
  const other = output - audio;
  const hasKinds = isStated(details.image_tokens) || isStated(details.text_tokens);
  const images = hasKinds
    ? first(details.image_tokens, other - first(details.text_tokens))
    : other - Math.min(reasoning, other);
  return {
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
    audioOutputTokens: audio,
    imageOutputTokens: Math.min(images, other),
  };
}

/** The output by what is stated, and by what the total leaves beside the input. */
function outputOf(
  stated: number,
  reasoning: number,
  left: number,
  { reasoningBeside }: UsageRules,
  conflicts: string[],
): number {
  if (left <= stated) {
    if (reasoning <= stated) return stated;
    if (left > 0) conflicts.push(`reasoning of ${reasoning} exceeds the output of ${stated}`);
    return stated + reasoning;
  }
  const isSum = left === stated + reasoning;
  // A part that is more than the whole lies beside it.
  if (stated === 0 || reasoningBeside || (isSum && reasoning > stated)) return left;
  conflicts.push(`the total leaves ${left} of output, and ${stated} are stated`);
  // A relay that adds up reasoning although the completion includes it.
  return isSum ? stated : left;
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
