import { definedFields, isEmpty, type Json, objectAt } from '../json.ts';
import { cannotExpress } from './refuse.ts';

/** Models that think as much as they are told in tokens; later ones judge it themselves by an effort. */
const BUDGETED = /claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|$|@))/;

const BUDGETS: Record<string, number> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384 };
const EFFORTS: Record<string, string> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};

/** `reasoning_effort` and `response_format`, which share a field with Anthropic. */
export function reasoning(chat: Json, model: string): Json {
  const format = formatOf(chat.response_format);
  const effort = chat.reasoning_effort;
  if (isEmpty(effort) || effort === 'none') return format ? { output_config: { format } } : {};
  const asked = String(effort);
  if (BUDGETED.test(model)) {
    const budget = BUDGETS[asked];
    if (budget === undefined) throw cannotExpress('reasoning_effort', `${asked} is none of its efforts`);
    const thinking = { type: 'enabled', budget_tokens: budget };
    return format ? { thinking, output_config: { format } } : { thinking };
  }
  const own = EFFORTS[asked];
  if (own === undefined) throw cannotExpress('reasoning_effort', `${asked} is none of its efforts`);
  return { thinking: { type: 'adaptive' }, output_config: definedFields({ effort: own, format }) };
}

function formatOf(value: unknown): Json | undefined {
  if (isEmpty(value)) return undefined;
  const { type, json_schema } = objectAt(value, 'response_format');
  if (type === 'text') return undefined;
  if (type !== 'json_schema') {
    throw cannotExpress('response_format', 'only a json_schema makes its models keep to JSON');
  }
  return { type, schema: objectAt(json_schema, 'response_format.json_schema').schema };
}
