/**
 * The number of calls of server-side tools, from the parsed `usage`: OpenAI's `tool_usage`, Anthropic's and
 * OpenRouter's `server_tool_use`, and `server_tool_calls`, which gw counts from a response's items.
 */
import type { TokenUsage } from '../usage.ts';
import { fields, first, isStated } from './payload-fields.ts';
import { readUsage } from './usage-payload.ts';

/** Number of calls, by fee name. */
export type ToolCalls = Readonly<Record<string, number>>;

export function readToolCalls(raw: unknown): ToolCalls {
  const usage = fields(raw);
  const counted = fields(usage.server_tool_calls);
  const reported = fields(usage.tool_usage);
  const used = fields(usage.server_tool_use);
  const calls: Record<string, number> = {};
  for (const [name, value] of Object.entries(counted)) calls[name] = first(value);
  // The provider's own number; the queries of a call are what it may have been.
  const searches = first(
    fields(reported.web_search).num_requests,
    used.web_search_requests,
    counted.web_search,
  );
  if (searches > 0) calls.web_search = searches;
  return calls;
}

/** Whether a response reports its calls at all: some streams end with a response that has no items. */
export function tellsToolCalls(raw: unknown): boolean {
  const usage = fields(raw);
  return isStated(usage.server_tool_calls) || isStated(usage.tool_usage);
}

/** The tokens of a response's pictures, which are billed apart from its own; undefined if none are reported. */
export function readImageUsage(raw: unknown): TokenUsage | undefined {
  const usage = readUsage(fields(fields(raw).tool_usage).image_gen);
  return usage && usage.outputTokens > 0 ? usage : undefined;
}

/** The containers that the provider's tools ran in, by id. */
export function readToolRuns(raw: unknown): readonly string[] {
  const { containers } = fields(raw);
  return Array.isArray(containers) ? containers.filter((id) => typeof id === 'string') : [];
}
