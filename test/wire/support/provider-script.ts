import { chunkBody, completionBody, usageOf } from '../../support/chat-shapes.ts';
import { json, type Script } from '../../support/scripts.ts';
import { type Event, either } from './event-scripts.ts';
import { messageBody, messageStream, text, toolUse } from './messages-shapes.ts';
import { callItem, completedEvents, lastEvent, messageItem, responseBody } from './responses-shapes.ts';

const CITIES = ['Bonn', 'Ulm'];
const WORDS = ['Hello', ' you', ' 👋'];

interface AnyRequest {
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: unknown[];
  messages?: { role: string; content: unknown }[];
  input?: unknown;
  encoding_format?: string;
  /** The next three request JSON, one in each API. */
  response_format?: object;
  text?: { format?: { type?: string } };
  output_config?: { format?: object };
}

/** The answer to a request for JSON. */
const JSON_WORDS = ['{"city"', ':', '"Bonn 👋"}'];

function wordsFor({ response_format, text, output_config }: AnyRequest): string[] {
  const wantsJson = response_format ?? output_config?.format ?? text?.format?.type === 'json_schema';
  return wantsJson ? JSON_WORDS : WORDS;
}

/**
 * A provider with all APIs. If the request has tools, it calls `weather` for two cities in parallel. Otherwise, and for
 * their results, it answers "Hello you 👋", or JSON if the request asks for it.
 */
export const provider: Script = async (exchange) => {
  const path = exchange.request.path.split('?')[0] ?? '';
  const request = JSON.parse((await exchange.body).toString()) as AnyRequest;
  const calls =
    (request.tools?.length ?? 0) > 0 &&
    !/"role":"tool"|tool_result|function_call_output/.test(JSON.stringify(request));
  const script = path.endsWith('/responses')
    ? responses(calls, request)
    : path.endsWith('/messages')
      ? messages(calls, request)
      : path.endsWith('/embeddings')
        ? embeddings(request)
        : chat(calls, request);
  await script(exchange);
};

const argumentsFor = (city: string) => JSON.stringify({ city });

function chat(calls: boolean, request: AnyRequest): Script {
  const { stream_options } = request;
  const words = wordsFor(request);
  const usage = usageOf(20, 5);
  const tool_calls = CITIES.map((city, i) => ({
    id: `call_${i}`,
    type: 'function',
    function: { name: 'weather', arguments: argumentsFor(city) },
  }));
  const finish_reason = calls ? 'tool_calls' : 'stop';
  const message = calls
    ? { role: 'assistant', content: null, refusal: null, tool_calls }
    : { role: 'assistant', content: words.join(''), refusal: null };
  const deltas = calls
    ? tool_calls.map((call, index) => ({ delta: { tool_calls: [{ index, ...call }] } }))
    : words.map((content) => ({ delta: { content } }));
  const choices = [
    { delta: { role: 'assistant', content: calls ? null : '' } },
    ...deltas,
    { finish_reason },
  ];
  return either(completionBody('test-model', '', usage, { message, finish_reason }), [
    ...choices.map((choice): Event => ['', chunkBody('test-model', choice)]),
    ...(stream_options?.include_usage ? [['', chunkBody('test-model', undefined, { usage })] as Event] : []),
    ['', '[DONE]'],
  ]);
}

function responses(calls: boolean, request: AnyRequest): Script {
  const words = wordsFor(request);
  if (!calls) return either(responseBody([messageItem(words.join(''))]), completedEvents(words));
  const items = CITIES.map((city, i) => callItem(`call_${i}`, 'weather', argumentsFor(city)));
  const body = responseBody(items);
  const start: Event = [
    'response.created',
    {
      type: 'response.created',
      sequence_number: 0,
      response: responseBody([], { status: 'in_progress', usage: null }),
    },
  ];
  return either(body, [start, ...items.flatMap(callEvents), lastEvent('response.completed', body)]);
}

function callEvents(item: ReturnType<typeof callItem>, output_index: number): Event[] {
  const at = { output_index, item_id: item.id };
  const events: { type: string; [field: string]: unknown }[] = [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, arguments: '', status: 'in_progress' },
    },
    { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
    { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments, name: item.name },
    { type: 'response.output_item.done', output_index, item },
  ];
  return events.map((data, i) => [data.type, { ...data, sequence_number: output_index * 4 + i + 1 }]);
}

function messages(calls: boolean, request: AnyRequest): Script {
  const content = calls
    ? CITIES.map((city, i) => toolUse(`toolu_${i}`, 'weather', { city }))
    : [text(wordsFor(request).join(''))];
  const stop_reason = calls ? 'tool_use' : 'end_turn';
  return either(messageBody(content, { stop_reason }), messageStream(content, { stopReason: stop_reason }));
}

function embeddings({ input, encoding_format }: AnyRequest): Script {
  const numbers = new Float32Array([0.25, -1, 3]);
  const embedding =
    encoding_format === 'base64' ? Buffer.from(numbers.buffer).toString('base64') : [...numbers];
  const inputs = Array.isArray(input) ? input : [input];
  return json(200, {
    object: 'list',
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
    model: 'test-model',
    usage: { prompt_tokens: 8, total_tokens: 8 },
  });
}
