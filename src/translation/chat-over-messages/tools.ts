import { asText, definedFields, type Json, listAt, objectAt } from '../json.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };

export function tools(value: unknown): Json[] {
  return listAt(value, 'tools').map((tool, i) => {
    const at = `tools[${i}]`;
    const { type, function: definition, cache_control, ...rest } = objectAt(tool, at);
    if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
    refuseRest(rest, at);
    const { name, description, parameters, strict, ...more } = objectAt(definition, `${at}.function`);
    refuseRest(more, `${at}.function`);
    return definedFields({
      name,
      description,
      input_schema: parameters ?? NO_PARAMETERS,
      strict: strict === true ? true : undefined,
      cache_control,
    });
  });
}

/** Translates `tool_choice` and `parallel_tool_calls`, which are one field in Anthropic's API. */
export function toolChoice(value: unknown, parallel: unknown): Json | undefined {
  const choice = value === undefined || value === null ? undefined : choiceOf(value);
  if (parallel !== false || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function choiceOf(choice: unknown): Json {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const { type, function: tool } = objectAt(choice, 'tool_choice');
  if (type !== 'function') throw cannotExpress('tool_choice');
  return { type: 'tool', name: objectAt(tool, 'tool_choice.function').name };
}
