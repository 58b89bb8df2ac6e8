/**
 * Reads the number of server-side tool calls from the parsed `usage`: OpenAI's `tool_usage`, Anthropic's and
 * OpenRouter's `server_tool_use`, and `server_tool_calls`, which gw counts from a response's items.
 */
import type { TokenUsage } from '../usage.ts';
import { fields, first, isStated } from './payload-fields.ts';
import { readUsage } from './usage-payload.ts';

/** Number of calls, by fee name. */
export type ToolCalls = Readonly<Record<string, number>>;

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

/** Token usage of generated images, which is billed separately from the response; undefined if none is toolUsage. */
export function readImageUsage(raw: unknown): TokenUsage | undefined {
  const usage = readUsage(fields(fields(raw).tool_usage).image_gen);
  return usage && usage.outputTokens > 0 ? usage : undefined;
}

/** Ids of the containers that the provider's tools ran in. */
export function readToolRuns(raw: unknown): readonly string[] {
  const { containers } = fields(raw);
  return Array.isArray(containers) ? containers.filter((id) => typeof id === 'string') : [];
}
