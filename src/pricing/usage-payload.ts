/**
 * Parses providers' `usage` objects. Field names distinguish three ways of counting input:
 * - Chat Completions, `prompt_tokens`: the total, including cache reads and writes.
 * - Responses, `input_tokens` with details: the same.
 * - Anthropic's Messages, `input_tokens`, `cache_read_input_tokens` and `cache_creation_input_tokens`: they add up to
 *   the total.
 *
 * A count is a non-negative integer, including 0. Details of any other form (null, a string, a fraction, negative) are
 * ignored. Without totals for input and output, the usage is unknown. If cached and written tokens exceed the total, they
 * are added to it: some relays copy Anthropic's `input_tokens`, which excludes them. Other parts are clamped to their
 * totals, so that parts always add up.
 */
import { NO_USAGE, type TokenUsage } from '../usage.ts';
import { count, type Fields, fields, first, isStated } from './payload-fields.ts';

const BESIDE_TOTAL = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'];

/** A provider's way of counting, if the field names don't show it. */
export interface UsageRules {
  /** Reasoning is excluded from the completion and included in `total_tokens`, as xAI and Gemini count. */
  reasoningBeside?: boolean;
  /** Embeddings and rerankers: there is no output, so `total_tokens` is the input. */
  inputOnly?: boolean;
}

/** OpenAI's completion count includes reasoning. xAI's and Gemini's exclude it. */
const REASONING_BESIDE = /grok|gemini/i;

/** The counting rules for a provider's model. `endpoint` is the one in request records. */
export function usageRules(provider: string, model: string, endpoint?: string): UsageRules {
  return {
    reasoningBeside: provider === 'xai' || provider === 'google' || REASONING_BESIDE.test(model),
    inputOnly: endpoint === 'embeddings' || endpoint === 'rerank',
  };
}

/** Usage of one model that worked on a response. `model` is undefined for the model that the response names. */
export interface ModelUsage {
  model: string | undefined;
  usage: TokenUsage;
}

export interface UsageReport {
  usage: TokenUsage;
  /** The same usage by model: Anthropic's `iterations` may come from several models. */
  parts: readonly ModelUsage[];
  /** Contradictions between the figures, as text. */
  conflicts: readonly string[];
}

/** Token usage from a provider's parsed `usage`; undefined without totals for input and output. */
export function readUsage(payload: unknown, rules?: UsageRules): TokenUsage | undefined {
  return readReport(payload, rules)?.usage;
}

/**
 * Usage with its parts and contradictions. Anthropic's streams report usage in two events, which must be merged first;
 * the later one takes precedence.
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
 * Iterations that the totals exclude: https://platform.claude.com/docs/en/build-with-claude/compaction and
 * .../agents-and-tools/tool-use/advisor-tool. The totals include all other iterations, such as those of a model that
 * declined.
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
  if (!output) return undefined;
  checkPart(input.written1h, 'written for an hour', input.written, 'written', conflicts);
  checkPart(input.audio + input.images, 'of audio and images', input.total, 'of input', conflicts);
  return joinUsage(input, output);
}

function checkPart(
  part: number,
  name: string,
  whole: number,
  nameOfWhole: string,
  conflicts: string[],
): void {
  if (part > whole) conflicts.push(`${part} ${name} exceed ${whole} ${nameOfWhole}`);
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
  if (BESIDE_TOTAL.some((name) => isStated(raw[name]))) return besideTotal(raw, conflicts);
  const total = inputOnly ? (raw.input_tokens ?? raw.total_tokens) : raw.input_tokens;
  return withinTotal(raw, total, raw.input_tokens_details ?? raw.input_token_details, conflicts);
}

function withinTotal(
  raw: Fields,
  reported: unknown,
  reportedDetails: unknown,
  conflicts: string[],
): InputCounts | undefined {
  const total = count(reported);
  if (total === undefined) return undefined;
  const details = fields(reportedDetails);
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
    // In order: LiteLLM; proxies of Anthropic.
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

function besideTotal(raw: Fields, conflicts: string[]): InputCounts | undefined {
  const fresh = count(raw.input_tokens);
  if (fresh === undefined) return undefined;
  const lifetimes = fields(raw.cache_creation);
  const written1h = first(lifetimes.ephemeral_1h_input_tokens);
  const written5m = first(lifetimes.ephemeral_5m_input_tokens);
  const writes = count(raw.cache_creation_input_tokens) ?? written5m + written1h;
  checkPart(written5m + written1h, 'written by lifetime', writes, 'written', conflicts);
  const written = Math.max(writes, written5m + written1h);
  const cached = first(raw.cache_read_input_tokens);
  const kinds = { audio: 0, cachedAudio: 0, images: 0, cachedImages: 0 };
  return { total: fresh + cached + written, cached, written, written1h, ...kinds };
}

/** Lists every field: a spread takes several times as long as the rest of the parsing. */
function joinUsage(input: InputCounts, output: OutputUsage): TokenUsage {
  const { total, cached, written } = input;
  const written1h = Math.min(input.written1h, written);
  const fresh = total - cached - written;
  // Without a count of cached audio or images, all of them count as uncached, which is dearer.
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

/** Whether a `usage` has an output count, or a total from which it follows. */
export function statesOutput(payload: unknown): boolean {
  const raw = fields(payload);
  return [raw.completion_tokens, raw.output_tokens, raw.total_tokens].some(isStated);
}

/** The output counts. Embeddings have none. An unreadable output count is derived from the total. */
function readOutput(
  raw: Fields,
  inputTokens: number,
  rules: UsageRules,
  conflicts: string[],
): OutputUsage | undefined {
  const reported = raw.completion_tokens ?? raw.output_tokens;
  const total = count(raw.total_tokens);
  if (isStated(reported) && count(reported) === undefined && total === undefined) return undefined;
  const details = fields(
    raw.completion_tokens_details ?? raw.output_tokens_details ?? raw.output_token_details,
  );
  const reasoning = first(details.reasoning_tokens, details.thinking_tokens, raw.reasoning_tokens);
  const left = (total ?? 0) - inputTokens;
  // Perplexity's deep research excludes reasoning and citations from both counts.
  const output = isStated(raw.citation_tokens)
    ? Math.max(first(reported), left) + reasoning + first(raw.citation_tokens)
    : outputOf(first(reported), reasoning, left, rules, conflicts);
  checkPart(first(details.audio_tokens), 'of audio', output, 'of output', conflicts);
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

/** The output count, from the reported count and from the remainder of the total after input (`left`). */
function outputOf(
  reported: number,
  reasoning: number,
  left: number,
  { reasoningBeside }: UsageRules,
  conflicts: string[],
): number {
  if (left <= reported) {
    if (reasoning <= reported) return reported;
    if (left > 0) conflicts.push(`reasoning of ${reasoning} exceeds the output of ${reported}`);
    return reported + reasoning;
  }
  const isSum = left === reported + reasoning;
  // A part larger than its whole is not included in it.
  if (reported === 0 || reasoningBeside || (isSum && reasoning > reported)) return left;
  conflicts.push(`the total leaves ${left} of output, and ${reported} are stated`);
  // A relay that adds reasoning twice: the completion includes it already.
  return isSum ? reported : left;
}

const NAMES = Object.keys(NO_USAGE) as (keyof TokenUsage)[]; // NO_USAGE has exactly these keys.

/** The sum of two usages. */
export function addUsage(sum: TokenUsage, part: TokenUsage): TokenUsage {
  const added = { ...sum };
  for (const name of NAMES) added[name] += part[name];
  return added;
}

/** The usage minus a part of it, at least 0 for every count. */
function without(usage: TokenUsage, part: TokenUsage): TokenUsage {
  const left = { ...usage };
  for (const name of NAMES) left[name] = Math.max(0, left[name] - part[name]);
  return left;
}

/** Number of calls, by fee name. */
export type ToolCalls = Readonly<Record<string, number>>;

/**
 * The number of server-side tool calls in the parsed `usage`: OpenAI's `tool_usage`, Anthropic's and OpenRouter's
 * `server_tool_use`, and `server_tool_calls`, which gw counts from a response's items.
 */
export function readToolCalls(raw: unknown): ToolCalls {
  const usage = fields(raw);
  const itemCalls = fields(usage.server_tool_calls);
  const toolUsage = fields(usage.tool_usage);
  const serverToolUse = fields(usage.server_tool_use);
  const calls: Record<string, number> = {};
  for (const [name, value] of Object.entries(itemCalls)) calls[name] = first(value);
  // The provider's own number is exact. A call's queries are only an estimate.
  const searches = first(
    fields(toolUsage.web_search).num_requests,
    serverToolUse.web_search_requests,
    itemCalls.web_search,
  );
  if (searches > 0) calls.web_search = searches;
  return calls;
}

/** Whether a response reports tool calls at all. The final response of some streams has no items. */
export function reportsToolCalls(raw: unknown): boolean {
  const usage = fields(raw);
  return isStated(usage.server_tool_calls) || isStated(usage.tool_usage);
}

/** Token usage of generated images, which is billed separately from the response; undefined if there is none. */
export function readImageUsage(raw: unknown): TokenUsage | undefined {
  const usage = readUsage(fields(fields(raw).tool_usage).image_gen);
  return usage && usage.outputTokens > 0 ? usage : undefined;
}

/** Ids of the containers that the provider's tools ran in. */
export function readToolRuns(raw: unknown): readonly string[] {
  const { containers } = fields(raw);
  return Array.isArray(containers) ? containers.filter((id) => typeof id === 'string') : [];
}
