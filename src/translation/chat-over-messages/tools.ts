import { definedFields, type Json, listAt, objectAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };

export function tools(value: unknown): Json[] {
  return listAt(value, 'tools').map((tool, i) => {
    const at = `tools[${i}]`;
    const { type, function: declared, cache_control, ...rest } = objectAt(tool, at);
    if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${String(type)} tools`);
    refuseRest(rest, at);
    const { name, description, parameters, strict, ...more } = objectAt(declared, `${at}.function`);
    refuseRest(more, `${at}.function`);
    const isStrict = strict === true ? true : undefined;
    return definedFields({
      name,
      description,
      input_schema: parameters ?? NO_PARAMETERS,
      strict: isStrict,
      cache_control,
    });
  });
}

/** `tool_choice` and `parallel_tool_calls` as the one field that they are with Anthropic. */
export function toolChoice(choice: unknown, parallel: unknown): Json | undefined {
  const chosen = choice === undefined || choice === null ? undefined : choiceOf(choice);
  if (parallel !== false || chosen?.type === 'none') return chosen;
  return { ...(chosen ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function choiceOf(choice: unknown): Json {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const { type, function: called } = objectAt(choice, 'tool_choice');
  if (type !== 'function') throw cannotExpress('tool_choice');
  return { type: 'tool', name: objectAt(called, 'tool_choice.function').name };
}
