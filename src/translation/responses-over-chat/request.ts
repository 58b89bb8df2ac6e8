import { asText, definedFields, isEmpty, type Json, listAt, lookUp, objectAt } from '../json.ts';
import { type LeaveOut, without } from '../left-out.ts';
import type { RequestOptions } from '../translator.ts';
import { type ConversationOptions, chatMessages } from './conversation.ts';
import { cannotExpress, refuseRest } from './refuse.ts';
import { flatName, toolLists } from './tool-names.ts';

export type ChatRequestOptions = Pick<RequestOptions, 'outputLimit'> & ConversationOptions & ToolOptions;

/** Fields translated elsewhere, and hints and labels that don't affect the response. */
// biome-ignore format: related fields share a line
const SKIPPED_FIELDS = new Set([
  'model', 'input', 'instructions', 'service', 'stream', 'stream_options', 'max_output_tokens',
  'tools', 'tool_choice', 'parallel_tool_calls', 'user', 'safety_identifier',
  'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'metadata', 'client_metadata',
  // No effect: gw stores no responses, and the provider has no server-side tools.
  'store', 'max_tool_calls',
]);

/** Fields that need state, functions or provider details missing from chat completions. */
// biome-ignore format: related fields share a line
const UNSUPPORTED = new Set([
  'previous_response_id', 'conversation', 'prompt', 'context_management', 'moderation',
  'background', 'truncation', 'top_logprobs',
]);

/** By field: whether a value equals the default. */
const IS_DEFAULT: Record<string, (value: unknown) => boolean> = {
  background: (value) => value === false,
  truncation: (value) => value === 'disabled',
  top_logprobs: (value) => value === 0,
  service_tier: (value) => value === 'auto',
};

const TRANSLATIONS: Record<string, (value: unknown) => Json> = {
  text(value) {
    const { format, verbosity, ...rest } = objectAt(value, 'text');
    refuseRest(rest, 'text');
    return { ...formatOf(format), ...(isEmpty(verbosity) || verbosity === 'medium' ? {} : { verbosity }) };
  },
  reasoning(value) {
    // Reasoning from the provider is returned as the summary, whether or not the client requested one.
    const { effort, summary: _summary, generate_summary: _old, ...rest } = objectAt(value, 'reasoning');
    refuseRest(rest, 'reasoning');
    return definedFields({ reasoning_effort: effort });
  },
  include(value) {
    const at = listAt(value, 'include').findIndex((each) => /logprobs/.test(asText(each)));
    if (at >= 0) throw cannotExpress(`include[${at}]`);
    return {};
  },
};

/**
 * Translates a responses request. Throws GwError 400 for OpenAI fields without an equivalent in chat completions. Other
 * fields are extensions of a provider and pass unchanged.
 */
export function chatRequest(responses: Json, options: ChatRequestOptions): Json {
  const { stream, max_output_tokens, user, safety_identifier } = responses;
  const request: Json = {
    model: responses.model,
    messages: chatMessages(responses, options),
    ...definedFields({ [options.outputLimit]: max_output_tokens, user: user ?? safety_identifier, stream }),
    ...(stream === true ? { stream_options: { include_usage: true } } : {}),
    ...toolFields(responses, options),
  };
  for (const [key, value] of Object.entries(responses)) {
    if (SKIPPED_FIELDS.has(key) || isEmpty(value) || lookUp(IS_DEFAULT, key)?.(value)) continue;
    if (UNSUPPORTED.has(key)) throw cannotExpress(key);
    const translate = lookUp(TRANSLATIONS, key);
    if (translate) Object.assign(request, translate(value));
    // An assignment to `__proto__` would set the prototype.
    else Object.defineProperty(request, key, { value, enumerable: true });
  }
  return request;
}

function formatOf(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, name, schema, strict, description, ...rest } = objectAt(value, 'text.format');
  refuseRest(rest, 'text.format');
  switch (type) {
    case 'text':
      return {};
    case 'json_object':
      return { response_format: { type } };
    case 'json_schema':
      return { response_format: { type, json_schema: definedFields({ name, description, schema, strict }) } };
    default:
      throw cannotExpress('text.format.type');
  }
}

const NO_PARAMETERS = { type: 'object', properties: {} };

interface ToolOptions {
  /** Whether the client is Codex. It offers web search with every request, so the tool is dropped. */
  isCodex: boolean;
  leaveOut: LeaveOut;
}

/**
 * Translates `tools`, `tool_choice` and `parallel_tool_calls`. All tools are sent, including deferred ones. If a tool
 * is listed twice, the last definition is sent.
 */
function toolFields(responses: Json, options: ToolOptions): Json {
  const all = toolLists(responses).flatMap(({ tools: list, at }) =>
    isEmpty(list) ? [] : toolsIn(listAt(list, at), at, options),
  );
  const tools = [...new Map(all.map((tool) => [tool.name, tool])).values()];
  const { choice, only } = toolChoice(responses.tool_choice);
  const allowed = only ? tools.filter(({ name }) => only.has(name)) : tools;
  if (allowed.length === 0) return {};
  return definedFields({
    tools: allowed.map(({ tool }) => tool),
    tool_choice: choice,
    // True is the default, and some providers lack the field.
    parallel_tool_calls: responses.parallel_tool_calls === false ? false : undefined,
  });
}

interface ChatTool {
  name: string;
  tool: Json;
}

function toolsIn(list: unknown[], at: string, options: ToolOptions, namespace?: unknown): ChatTool[] {
  return list.flatMap((value, i) =>
    chatTools(objectAt(value, `${at}[${i}]`), `${at}[${i}]`, options, namespace),
  );
}

function chatTools(tool: Json, at: string, options: ToolOptions, namespace: unknown): ChatTool[] {
  if (isNotNeeded(tool, options)) {
    options.leaveOut(`${at} (${tool.type})`);
    return [];
  }
  switch (tool.type) {
    case 'function':
      return [functionTool(without(tool, ['defer_loading'], at, options.leaveOut), at, namespace)];
    case 'custom':
      return [customTool(without(tool, ['defer_loading'], at, options.leaveOut), at, namespace)];
    case 'namespace':
      if (namespace !== undefined) throw cannotExpress(`${at}.type`, "a namespace can't contain another");
      return toolsIn(listAt(tool.tools, `${at}.tools`), `${at}.tools`, options, tool.name);
    default:
      throw cannotExpress(`${at}.type`, `only OpenAI runs ${asText(tool.type)}`);
  }
}

/**
 * Whether a tool can be dropped. Tool search is needless, because all listed tools are sent and others can't be found.
 * Codex offers web search with every request.
 */
function isNotNeeded({ type }: Json, { isCodex }: ToolOptions): boolean {
  return type === 'tool_search' || (isCodex && type === 'web_search');
}

function functionTool({ type: _type, ...tool }: Json, at: string, namespace: unknown): ChatTool {
  const { name, description, parameters, strict, output_schema: _schema, ...rest } = tool;
  refuseRest(rest, at);
  return chatTool(flatName(name, namespace), {
    description,
    parameters: parameters ?? NO_PARAMETERS,
    strict: strict === true ? true : undefined,
  });
}

function customTool({ type: _type, ...tool }: Json, at: string, namespace: unknown): ChatTool {
  const { name, description, format, ...rest } = tool;
  refuseRest(rest, at);
  const input = { type: 'string', ...grammarOf(format, `${at}.format`) };
  return chatTool(flatName(name, namespace), {
    description,
    parameters: { type: 'object', properties: { input }, required: ['input'] },
  });
}

function chatTool(name: string, fields: Json): ChatTool {
  return { name, tool: { type: 'function', function: definedFields({ name, ...fields }) } };
}

/** A chat completion can't enforce a grammar, so the description states it. */
function grammarOf(value: unknown, at: string): Json {
  if (isEmpty(value)) return {};
  const { type, syntax, definition } = objectAt(value, at);
  if (type === 'text') return {};
  if (type !== 'grammar') throw cannotExpress(`${at}.type`);
  return { description: `A text of this grammar (${asText(syntax)}):\n${asText(definition)}` };
}

/** The tool choice, and the names of the allowed tools; `only` is undefined if all are allowed. */
function toolChoice(value: unknown): { choice?: unknown; only?: ReadonlySet<string> } {
  if (isEmpty(value)) return {};
  if (value === 'auto' || value === 'none' || value === 'required') return { choice: value };
  const { type, name, namespace, mode, tools } = objectAt(value, 'tool_choice');
  if (type === 'function' || type === 'custom') {
    return { choice: { type: 'function', function: { name: flatName(name, namespace) } } };
  }
  if (type !== 'allowed_tools') throw cannotExpress('tool_choice.type', `only OpenAI runs ${asText(type)}`);
  const allowed = listAt(tools, 'tool_choice.tools').map((tool, i) => {
    const each = objectAt(tool, `tool_choice.tools[${i}]`);
    return flatName(each.name, each.namespace);
  });
  return { choice: mode, only: new Set(allowed) };
}
