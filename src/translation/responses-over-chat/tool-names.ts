import { createHash } from 'node:crypto';
import { isObject } from '../../json/object.ts';
import { type Json, objectsIn } from '../json.ts';

/** A tool as the client of responses knows it. */
export interface NamedTool {
  name: unknown;
  namespace?: unknown;
  /** A custom tool takes a text; it is offered as a function with that text as its one argument. */
  isCustom: boolean;
}

const MAX_NAME = 64;

/** A chat completion knows no namespaces: their names go in front of those of their tools, as far as there is room. */
export function flatName(name: unknown, namespace?: unknown): string {
  const inside = typeof namespace === 'string' && namespace !== '';
  const flat = inside ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${String(name)}` : String(name);
  if (flat.length <= MAX_NAME) return flat;
  const hash = createHash('sha256').update(flat).digest('hex').slice(0, 8);
  return `${flat.slice(0, MAX_NAME - 9)}_${hash}`;
}

/** The tools of a request by the names that the provider knows them by. */
export function toolsByName(tools: unknown): ReadonlyMap<string, NamedTool> {
  const names = new Map<string, NamedTool>();
  const add = (list: unknown, namespace?: unknown) => {
    for (const tool of objectsIn(list)) {
      if (tool.type === 'namespace') add(tool.tools, tool.name);
      else names.set(flatName(tool.name, namespace), named(tool, namespace));
    }
  };
  add(tools);
  return names;
}

function named({ name, type }: Json, namespace: unknown): NamedTool {
  return { name, ...(namespace === undefined ? {} : { namespace }), isCustom: type === 'custom' };
}

/** A custom tool's text as the arguments of the function that stands for it. */
export function customArguments(input: unknown): string {
  return JSON.stringify({ input });
}

/** The text in the arguments; a model that writes something else than it was asked for is quoted as it is. */
export function customInput(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (isObject(value) && typeof value.input === 'string') return value.input;
  } catch {
    // What is no JSON is what the model has to say.
  }
  return args;
}
