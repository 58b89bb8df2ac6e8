import type { RequestContext } from '../../context.ts';
import type { Conversation, Tool, ToolChoice } from '../../conversation/conversation.ts';
import { asText, isEmpty, type Json, objectAt } from '../../json.ts';
import { without } from '../../left-out.ts';
import { eachObject } from '../fields.ts';
import { customParameters, flatName, toolLists } from './tool-names.ts';

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`. All tools are sent, including deferred ones. If a tool is
 * listed twice, the last definition is sent.
 */
export function toolFields(
  body: Json,
  context: RequestContext,
): Pick<Conversation, 'tools' | 'choice' | 'isSerial'> {
  const all = toolLists(body).flatMap(({ tools: list, at }) =>
    isEmpty(list) ? [] : toolsIn(list, at, context),
  );
  const tools = [...new Map(all.map((tool) => [tool.name, tool])).values()];
  const { choice, only } = toolChoice(body.tool_choice, context);
  const allowed = only ? tools.filter(({ name }) => only.has(name)) : tools;
  if (allowed.length === 0) return { tools: [] };
  return {
    tools: allowed,
    choice,
    isSerial: body.parallel_tool_calls === false,
  };
}

function toolsIn(list: unknown, at: string, context: RequestContext, namespace?: unknown): Tool[] {
  return eachObject(list, at, (tool, path) => toolsOf(tool, path, context, namespace)).flat();
}

function toolsOf(tool: Json, at: string, context: RequestContext, namespace: unknown): Tool[] {
  const { cannotExpress, leaveOut } = context;
  if (isNotNeeded(tool, context)) {
    leaveOut(`${at} (${tool.type})`);
    return [];
  }
  switch (tool.type) {
    case 'function':
      return [functionTool(without(tool, ['defer_loading'], at, leaveOut), at, context, namespace)];
    case 'custom':
      return [customTool(without(tool, ['defer_loading'], at, leaveOut), at, context, namespace)];
    case 'namespace':
      if (namespace !== undefined) throw cannotExpress(`${at}.type`, "a namespace can't contain another");
      return toolsIn(tool.tools, `${at}.tools`, context, tool.name);
    default:
      throw cannotExpress(`${at}.type`, `only OpenAI runs ${asText(tool.type)}`);
  }
}

/**
 * Whether a tool can be dropped. Tool search is needless, because all listed tools are sent and others can't be found.
 * Codex offers web search with every request.
 */
function isNotNeeded({ type }: Json, { isCodex }: RequestContext): boolean {
  return type === 'tool_search' || (isCodex && type === 'web_search');
}

function functionTool(
  { type: _type, ...tool }: Json,
  at: string,
  { refuseRest }: RequestContext,
  namespace: unknown,
): Tool {
  const { name, description, parameters, strict, output_schema: _schema, ...others } = tool;
  refuseRest(others, at);
  const isStrict = typeof strict === 'boolean' ? strict : undefined;
  return { name: flatName(name, namespace), description, parameters, isStrict };
}

function customTool(
  { type: _type, ...tool }: Json,
  at: string,
  context: RequestContext,
  namespace: unknown,
): Tool {
  const { name, description, format, ...others } = tool;
  context.refuseRest(others, at);
  const grammar = grammarOf(format, `${at}.format`, context);
  return { name: flatName(name, namespace), description, parameters: customParameters(grammar) };
}

/** No other API can enforce a grammar, so the description states it. */
function grammarOf(value: unknown, at: string, { cannotExpress }: RequestContext): string | undefined {
  if (isEmpty(value)) return undefined;
  const { type, syntax, definition } = objectAt(value, at);
  if (type === 'text') return undefined;
  if (type !== 'grammar') throw cannotExpress(`${at}.type`);
  return `A text of this grammar (${asText(syntax)}):\n${asText(definition)}`;
}

/** The tool choice, and the names of the allowed tools; `only` is undefined if all are allowed. */
function toolChoice(
  value: unknown,
  { cannotExpress }: RequestContext,
): { choice?: ToolChoice; only?: ReadonlySet<string> } {
  if (isEmpty(value)) return {};
  if (value === 'auto' || value === 'none') return { choice: value };
  if (value === 'required') return { choice: 'any' };
  const { type, name, namespace, mode, tools } = objectAt(value, 'tool_choice');
  if (type === 'function' || type === 'custom') return { choice: { name: flatName(name, namespace) } };
  if (type !== 'allowed_tools') throw cannotExpress('tool_choice.type', `only OpenAI runs ${asText(type)}`);
  const allowed = eachObject(tools, 'tool_choice.tools', (tool) => flatName(tool.name, tool.namespace));
  return { choice: mode === 'required' ? 'any' : 'auto', only: new Set(allowed) };
}
