import { isObject } from '../../json/object.ts';

/** Fee names of the output items that stand for a charged call. */
const FEE_NAMES: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  image_generation_call: 'image_generation',
  code_interpreter_call: 'container',
  shell_call: 'container',
  x_search_call: 'x_search',
  collections_search_call: 'collections_search',
};

/** Number of server tool calls among the items of a response, by fee name. */
export function countToolCalls(output: readonly unknown[]): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const item of output.filter(isObject)) {
    const name = feeName(item);
    if (name !== undefined) calls[name] = (calls[name] ?? 0) + callsOf(item);
  }
  return calls;
}

/** The containers that tools ran in, among the items of a response; empty for one without an id. */
export function containersIn(output: readonly unknown[]): string[] {
  const runs = output.filter(isObject).filter((item) => feeName(item) === 'container');
  return [...new Set(runs.map(({ container_id }) => (typeof container_id === 'string' ? container_id : '')))];
}

function feeName({ type }: Record<string, unknown>): string | undefined {
  return typeof type === 'string' && Object.hasOwn(FEE_NAMES, type) ? FEE_NAMES[type] : undefined;
}

/** One call may run several searches. Opening a page and finding text in it are free. */
function callsOf({ type, action }: Record<string, unknown>): number {
  if (type !== 'web_search_call' || !isObject(action)) return 1;
  if (action.type === 'open_page' || action.type === 'find_in_page' || action.type === 'find') return 0;
  return Array.isArray(action.queries) ? Math.max(1, action.queries.length) : 1;
}
