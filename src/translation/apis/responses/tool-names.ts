import { isObject, objectsIn } from '../../../json/object.ts';
import { asText, type Json } from '../../json.ts';

/** A tool as the client names it. */
export interface NamedTool {
  name: unknown;
  namespace?: unknown;
  /** A custom tool takes plain text. It becomes a function with the text as its only argument. */
  isCustom: boolean;
}

/** The name in a conversation, which has no namespaces: a prefix replaces them. */
export function flatName(name: unknown, namespace?: unknown): string {
  if (typeof namespace !== 'string' || namespace === '') return asText(name);
  return `${namespace}${namespace.endsWith('__') ? '' : '__'}${asText(name)}`;
}

/** Item types that add tools to a conversation: https://developers.openai.com/api/docs/guides/tools-tool-search */
const TOOL_ITEMS: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output']);

/** The items of an input that add tools. */
export function toolItems(input: unknown): Json[] {
  return objectsIn(input).filter(({ type }) => TOOL_ITEMS.has(type));
}

/** A request's tool lists: `tools`, which Codex omits for newer models, and those in input items. */
export function toolLists({ tools, input }: Json): { tools: unknown; at: string }[] {
  const items = Array.isArray(input) ? input : [];
  return [
    { tools, at: 'tools' },
    ...items.flatMap((item: unknown, i) =>
      isObject(item) && TOOL_ITEMS.has(item.type) ? [{ tools: item.tools, at: `input[${i}].tools` }] : [],
    ),
  ];
}

/** A request's tools by their names in the chat completion. */
export function toolsByName(request: Json): ReadonlyMap<string, NamedTool> {
  const names = new Map<string, NamedTool>();
  const add = (list: unknown, namespace?: unknown) => {
    for (const tool of objectsIn(list)) {
      if (tool.type === 'namespace') add(tool.tools, tool.name);
      else names.set(flatName(tool.name, namespace), namedTool(tool, namespace));
    }
  };
  for (const { tools } of toolLists(request)) add(tools);
  return names;
}

function namedTool({ name, type }: Json, namespace: unknown): NamedTool {
  return { name, ...(namespace === undefined ? {} : { namespace }), isCustom: type === 'custom' };
}

/** The parameters of a function that stands for a custom tool. `grammar`: what its input has to be. */
export const customParameters = (grammar: string | undefined): Json => ({
  type: 'object',
  properties: { input: { type: 'string', ...(grammar === undefined ? {} : { description: grammar }) } },
  required: ['input'],
});

export const customArguments = (input: unknown): string => JSON.stringify({ input });

/** The input in the arguments, or the arguments themselves if they have another form. */
export function customInput(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (isObject(value) && typeof value.input === 'string') return value.input;
  } catch {
    // Not JSON: the text itself is the input.
  }
  return args;
}
