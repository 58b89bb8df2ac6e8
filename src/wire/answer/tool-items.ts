import { isObject } from '../../json/object.ts';

/** Items of a response that tell of a call that is charged for, and the names of their fees. */
const ITEMS: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  image_generation_call: 'image_generation',
  code_interpreter_call: 'container',
  shell_call: 'container',
  x_search_call: 'x_search',
  collections_search_call: 'collections_search',
};

/** The calls of the provider's own tools among the items of a response. */
export function countToolCalls(output: readonly unknown[]): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const item of output) {
    if (!isObject(item) || typeof item.type !== 'string' || !Object.hasOwn(ITEMS, item.type)) continue;
    const name = ITEMS[item.type] ?? item.type;
    calls[name] = (calls[name] ?? 0) + callsOf(item);
  }
  return calls;
}

/** One call may search for several things at once; to open a page, or to look within it, is free. */
function callsOf({ type, action }: Record<string, unknown>): number {
  if (type !== 'web_search_call' || !isObject(action)) return 1;
  if (action.type === 'open_page' || action.type === 'find_in_page' || action.type === 'find') return 0;
  return Array.isArray(action.queries) ? Math.max(1, action.queries.length) : 1;
}
