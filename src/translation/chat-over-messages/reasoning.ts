import { asText, definedFields, isEmpty, type Json, objectAt } from '../json.ts';
import { cannotExpress } from './refuse.ts';

/** Models with a thinking budget in tokens. Later models think adaptively at an effort level. */
const BUDGETED = /claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|$|@))/;

const BUDGETS: Record<string, number> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384 };
const EFFORTS: Record<string, string> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};

/** Translates `reasoning_effort` and `response_format`, which share `output_config` in Anthropic's API. */
export function thinkingAndFormat(chat: Json, model: string): Json {
  const format = formatOf(chat.response_format);
  const { reasoning_effort } = chat;
  if (isEmpty(reasoning_effort) || reasoning_effort === 'none')
    return format ? { output_config: { format } } : {};
  const level = asText(reasoning_effort);
  if (BUDGETED.test(model)) {
    const budget = BUDGETS[level];
    if (budget === undefined) throw cannotExpress('reasoning_effort', `there is no effort ${level}`);
    const thinking = { type: 'enabled', budget_tokens: budget };
    return format ? { thinking, output_config: { format } } : { thinking };
  }
  const effort = EFFORTS[level];
  if (effort === undefined) throw cannotExpress('reasoning_effort', `there is no effort ${level}`);
  return { thinking: { type: 'adaptive' }, output_config: definedFields({ effort, format }) };
}

function formatOf(value: unknown): Json | undefined {
  if (isEmpty(value)) return undefined;
  const { type, json_schema } = objectAt(value, 'response_format');
  if (type === 'text') return undefined;
  if (type !== 'json_schema') {
    throw cannotExpress('response_format', 'use a json_schema');
  }
  return { type, schema: objectAt(json_schema, 'response_format.json_schema').schema };
}
