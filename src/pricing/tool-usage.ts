/**
 * The number of calls of server-side tools, from the parsed `usage`: OpenAI's `tool_usage`, Anthropic's and
 * OpenRouter's `server_tool_use`, and `server_tool_calls`, which gw counts from a response's items.
 */
import { NANO_PER_USD, type NanoUsd } from '../money.ts';
import { fields, first, isStated } from './payload-fields.ts';

/** Number of calls, by fee name. */
export type ToolCalls = Readonly<Record<string, number>>;

export function readToolCalls(raw: unknown): ToolCalls {
  const usage = fields(raw);
  const counted = fields(usage.server_tool_calls);
  const reported = fields(usage.tool_usage);
  const used = fields(usage.server_tool_use);
  const calls: Record<string, number> = {};
  for (const [name, value] of Object.entries(counted)) calls[name] = first(value);
  const searches = Math.max(
    first(counted.web_search),
    first(fields(reported.web_search).num_requests),
    first(used.web_search_requests),
  );
  if (searches > 0) calls.web_search = searches;
  return calls;
}

/** Whether a response reports its calls at all: some streams end with a response that has no items. */
export function tellsToolCalls(raw: unknown): boolean {
  const usage = fields(raw);
  return isStated(usage.server_tool_calls) || isStated(usage.tool_usage);
}

/** Per million tokens, of the dearest image model: the answer doesn't say which one was used. */
const IMAGE_INPUT_USD = 10;
const IMAGE_OUTPUT_USD = 40;

/** The cost of a response's images, which are billed apart from its tokens; undefined if none are reported. */
export function readImageCost(raw: unknown): NanoUsd | undefined {
  const images = fields(fields(fields(raw).tool_usage).image_gen);
  const output = first(images.output_tokens);
  if (output === 0) return undefined;
  const perToken = (usd: number) => (usd * NANO_PER_USD) / 1_000_000;
  return first(images.input_tokens) * perToken(IMAGE_INPUT_USD) + output * perToken(IMAGE_OUTPUT_USD);
}
