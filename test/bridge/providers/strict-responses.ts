import { isObject, objectsIn } from '../../../src/json/object.ts';
import type { Json } from '../../../src/translation/json.ts';
import { eventText } from '../../wire/support/event-scripts.ts';
import { responseUsage } from '../../wire/support/responses-shapes.ts';
import type { Reply, StrictApi } from './strict.ts';

// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'model', 'input', 'instructions', 'max_output_tokens', 'stream', 'temperature', 'top_p', 'tools', 'tool_choice',
  'parallel_tool_calls', 'reasoning', 'text', 'store', 'include', 'metadata', 'safety_identifier', 'service_tier',
  'prompt_cache_key', 'prompt_cache_retention',
]);
const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** OpenAI's responses, by https://developers.openai.com/api/reference/resources/responses/methods/create. */
export function strictResponses(): StrictApi {
  /** Sealed reasoning that it gave, by the ids of the calls behind it. */
  const sealed = new Map<string, string>();
  return {
    path: '/responses',
    faultOf: (body) => faultOf(body, sealed),
    turnsOf: ({ input }) => objectsIn(input).filter(({ type }) => type === 'function_call').length / 2,
    toolsOf: ({ tools }) => objectsIn(tools).map(({ name }) => String(name)),
    resultsOf: ({ input }) =>
      objectsIn(input).flatMap(({ type, output }) =>
        type === 'function_call_output' ? [JSON.stringify(output)] : [],
      ),
    plain: (reply) => responseOf(reply, outputOf(reply, sealed)),
    stream: (reply) => streamOf(reply, outputOf(reply, sealed)),
    error: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  };
}

function faultOf(body: Json, sealed: ReadonlyMap<string, string>): string | undefined {
  const unknown = Object.keys(body).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`;
  if (Number(body.max_output_tokens ?? 16) < 16) return 'integer below minimum value: max_output_tokens';
  for (const { type, name, parameters } of objectsIn(body.tools)) {
    if (type === 'function' && !/^[a-zA-Z0-9_-]{1,64}$/.test(String(name)))
      return `Invalid tools name ${name}`;
    if (type === 'function' && (!isObject(parameters) || !isObject(parameters.properties)))
      return 'object schema missing properties';
  }
  const items = objectsIn(body.input);
  const calls = items.filter(({ type }) => type === 'function_call').map(({ call_id }) => String(call_id));
  const results = items
    .filter(({ type }) => type === 'function_call_output')
    .map(({ call_id }) => String(call_id));
  const odd = calls.find((id) => !CALL_ID.test(id));
  if (odd !== undefined) return `Invalid call_id ${odd}`;
  if (calls.some((id) => !results.includes(id))) return 'No tool output found for function call';
  if (results.some((id) => !calls.includes(id))) return 'No tool call found for function call output';
  for (const [i, { type, call_id, encrypted_content }] of items.entries()) {
    if (type === 'reasoning' && ![...sealed.values()].includes(String(encrypted_content)))
      return 'invalid_encrypted_content';
    const seal = type === 'function_call' ? sealed.get(String(call_id)) : undefined;
    if (seal !== undefined && items[i - 1]?.encrypted_content !== seal)
      return `function_call ${call_id} was provided without its required reasoning item`;
  }
  return undefined;
}

function outputOf(reply: Reply, sealed: Map<string, string>): Json[] {
  const encrypted_content = `sealed ${reply.reasoning}`;
  const calls = reply.calls.map(({ name, args }, i) => ({
    type: 'function_call',
    id: `fc_${reply.turn}_${i}`,
    call_id: `call_${reply.turn}_${i}_${reply.usage.input}`,
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }));
  if (calls[0]) sealed.set(calls[0].call_id, encrypted_content);
  const text = { type: 'output_text', text: reply.text, annotations: [], logprobs: [] };
  return [
    {
      type: 'reasoning',
      id: `rs_${reply.turn}`,
      summary: [{ type: 'summary_text', text: reply.reasoning }],
      encrypted_content,
    },
    ...(reply.text === ''
      ? []
      : [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] }]),
    ...calls,
  ];
}

const responseOf = (reply: Reply, output: Json[]): Json => ({
  id: `resp_${reply.turn}`,
  object: 'response',
  created_at: 1,
  model: reply.model,
  status: 'completed',
  error: null,
  incomplete_details: null,
  output,
  usage: responseUsage(reply.usage.input, reply.usage.output),
});

function streamOf(reply: Reply, output: Json[]): string {
  const started = { ...responseOf(reply, []), status: 'in_progress', usage: null };
  const events: Json[] = [{ type: 'response.created', response: started }];
  for (const [output_index, item] of output.entries()) {
    const at = { output_index, item_id: item.id };
    events.push({
      type: 'response.output_item.added',
      output_index,
      item: { ...item, arguments: '', content: [], summary: [] },
    });
    if (item.type === 'reasoning') {
      const place = { ...at, summary_index: 0 };
      const part = { type: 'summary_text', text: '' };
      events.push({ type: 'response.reasoning_summary_part.added', ...place, part });
      events.push({ type: 'response.reasoning_summary_text.delta', ...place, delta: reply.reasoning });
    }
    if (item.type === 'message') {
      const place = { ...at, content_index: 0 };
      const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
      events.push({ type: 'response.content_part.added', ...place, part });
      for (const delta of [reply.text.slice(0, 4), reply.text.slice(4)])
        events.push({ type: 'response.output_text.delta', ...place, delta, logprobs: [] });
    }
    if (item.type === 'function_call')
      for (const delta of [String(item.arguments).slice(0, 5), String(item.arguments).slice(5)])
        events.push({ type: 'response.function_call_arguments.delta', ...at, delta });
    events.push({ type: 'response.output_item.done', output_index, item });
  }
  events.push({ type: 'response.completed', response: responseOf(reply, output) });
  return events
    .map((event, sequence_number) => eventText([String(event.type), { ...event, sequence_number }]))
    .join('');
}
