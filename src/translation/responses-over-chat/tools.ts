import { definedFields, isEmpty, type Json, listAt, objectAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';
import { flatName } from './tool-names.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };

export interface ToolOptions {
  /** The client is Codex, whose web search is dropped: it offers the tool with every request. */
  isCodex: boolean;
}

/** Translates `tools`, `tool_choice` and `parallel_tool_calls`. */
export function toolFields(responses: Json, { isCodex }: ToolOptions): Json {
  const list = isEmpty(responses.tools) ? [] : listAt(responses.tools, 'tools');
  const tools = list.flatMap((value, i) => {
    const tool = objectAt(value, `tools[${i}]`);
    return isCodex && tool.type === 'web_search' ? [] : chatTools(tool, `tools[${i}]`);
  });
  const { choice, only } = toolChoice(responses.tool_choice);
  const allowed = only ? tools.filter(({ name }) => only.has(name)) : tools;
  if (allowed.length === 0) return {};
  return definedFields({
    tools: allowed.map(({ tool }) => tool),
    tool_choice: choice,
    // True is the default, and some providers don't have the field.
    parallel_tool_calls: responses.parallel_tool_calls === false ? false : undefined,
  });
}

interface ChatTool {
  name: string;
  tool: Json;
}

function chatTools(tool: Json, at: string, namespace?: unknown): ChatTool[] {
  switch (tool.type) {
    case 'function':
      return [functionTool(tool, at, namespace)];
    case 'custom':
      return [customTool(tool, at, namespace)];
    case 'namespace':
      if (namespace !== undefined) throw cannotExpress(`${at}.type`, 'there is no namespace in a namespace');
      return listAt(tool.tools, `${at}.tools`).flatMap((inner, i) =>
        chatTools(objectAt(inner, `${at}.tools[${i}]`), `${at}.tools[${i}]`, tool.name),
      );
    default:
      throw cannotExpress(`${at}.type`, `${String(tool.type)} runs at OpenAI`);
  }
}

function functionTool({ type: _type, ...tool }: Json, at: string, namespace: unknown): ChatTool {
  const { name, description, parameters, strict, defer_loading, output_schema: _schema, ...rest } = tool;
  if (defer_loading === true) throw cannotExpress(`${at}.defer_loading`);
  refuseRest(rest, at);
  return chatTool(flatName(name, namespace), {
    description,
    parameters: parameters ?? NO_PARAMETERS,
    strict: strict === true ? true : undefined,
  });
}

function customTool({ type: _type, ...tool }: Json, at: string, namespace: unknown): ChatTool {
  const { name, description, format, defer_loading, ...rest } = tool;
  if (defer_loading === true) throw cannotExpress(`${at}.defer_loading`);
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

/** A chat completion can't enforce a grammar, so the description tells the model about it. */
function grammarOf(value: unknown, at: string): Json {
  if (isEmpty(value)) return {};
  const { type, syntax, definition } = objectAt(value, at);
  if (type === 'text') return {};
  if (type !== 'grammar') throw cannotExpress(`${at}.type`);
  return { description: `A text of this grammar (${String(syntax)}):\n${String(definition)}` };
}

/** The tool choice, and the names of the allowed tools unless all are allowed. */
function toolChoice(value: unknown): { choice?: unknown; only?: ReadonlySet<string> } {
  if (isEmpty(value)) return {};
  if (value === 'auto' || value === 'none' || value === 'required') return { choice: value };
  const { type, name, namespace, mode, tools } = objectAt(value, 'tool_choice');
  if (type === 'function' || type === 'custom') {
    return { choice: { type: 'function', function: { name: flatName(name, namespace) } } };
  }
  if (type !== 'allowed_tools') throw cannotExpress('tool_choice.type', `${String(type)} runs at OpenAI`);
  const allowed = listAt(tools, 'tool_choice.tools').map((tool, i) => {
    const each = objectAt(tool, `tool_choice.tools[${i}]`);
    return flatName(each.name, each.namespace);
  });
  return { choice: mode, only: new Set(allowed) };
}
