import { isObject } from '../../src/json/object.ts';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { json, respond, type Script } from '../support/scripts.ts';
import { type Event, either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text, toolUse } from '../wire/support/messages-shapes.ts';
import {
  callItem,
  completedEvents,
  messageItem,
  responseBody,
  responseUsage,
} from '../wire/support/responses-shapes.ts';

export const SAID = 'Hello you';

/** What an answer reported to have used. */
export interface Reported {
  model: string;
  inputTokens: number;
  outputTokens: number;
}

interface Call {
  name: string;
  args: Record<string, unknown>;
}

/**
 * A provider with all APIs that says "Hello you": in words, or with the first tool of a request that has no result
 * of one. Each answer reports another usage.
 */
export function reportingProvider(): { script: Script; reported: Reported[] } {
  const reported: Reported[] = [];
  const script: Script = async (exchange) => {
    const body: unknown = JSON.parse((await exchange.body).toString() || '{}');
    if (!isObject(body)) throw new Error('the request is no object');
    if (exchange.request.path.includes('/count_tokens')) return json(200, { input_tokens: 9 })(exchange);
    const called = /\/models\/(.+):\w+$/.exec(exchange.request.path.split('?')[0] ?? '')?.[1];
    const usage = { input: 20 + reported.length, output: 5 + reported.length };
    const answer = answerTo(exchange.request.path.split('?')[0] ?? '', body, usage);
    if (!answer) return json(404, { error: { message: `no ${exchange.request.path}` } })(exchange);
    reported.push({
      model: String(called ?? body.model),
      inputTokens: usage.input,
      outputTokens: usage.output,
    });
    await answer(exchange);
  };
  return { script, reported };
}

interface Usage {
  input: number;
  output: number;
}

function answerTo(path: string, body: Record<string, unknown>, usage: Usage): Script | undefined {
  const call = callFor(body);
  const content = wordsFor(body);
  const { input, output } = usage;
  if (path.endsWith('/messages')) {
    const blocks = [call ? toolUse('toolu_1', call.name, call.args) : text(content)];
    const rest = { usage: messageUsage(input, output), ...(call && { stop_reason: 'tool_use' }) };
    const options = { startUsage: messageUsage(input, 1), endUsage: { output_tokens: output } };
    return either(messageBody(blocks, rest), messageStream(blocks, options));
  }
  if (path.endsWith('/responses')) {
    const item = call ? callItem('call_1', call.name, JSON.stringify(call.args)) : messageItem(content);
    const rest = { usage: responseUsage(input, output) };
    return either(responseBody([item], rest), completedEvents([content], rest));
  }
  if (path.includes(':')) return geminiAnswer(path, content, usage);
  if (path.endsWith('/chat/completions')) return chatAnswer(content, call, usageOf(input, output));
  return undefined;
}

function geminiAnswer(path: string, text: string, { input, output }: Usage): Script {
  const content = { role: 'model', parts: [{ text }] };
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
  const answer = { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata };
  if (path.endsWith(':generateContent')) return json(200, answer);
  return respond(200, { 'content-type': 'text/event-stream' }, `data: ${JSON.stringify(answer)}\r\n\r\n`);
}

function chatAnswer(content: string, call: Call | undefined, usage: ReturnType<typeof usageOf>): Script {
  const tool = call && {
    id: 'call_1',
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  };
  const finish_reason = tool ? 'tool_calls' : 'stop';
  const message = tool
    ? { role: 'assistant', content: null, refusal: null, tool_calls: [tool] }
    : { role: 'assistant', content, refusal: null };
  const delta = tool
    ? { role: 'assistant', tool_calls: [{ index: 0, ...tool }] }
    : { role: 'assistant', content };
  const chunks: Event[] = [
    ['', chunkBody('m', { delta })],
    ['', chunkBody('m', { finish_reason })],
    ['', chunkBody('m', undefined, { usage })],
    ['', '[DONE]'],
  ];
  return either(completionBody('m', content, usage, { message, finish_reason }), chunks);
}

/** The form that DSPy asks for, JSON of a schema, or plain words. */
function wordsFor(body: Record<string, unknown>): string {
  return JSON.stringify(body).includes('[[ ## answer ## ]]')
    ? `[[ ## answer ## ]]\n${SAID}\n\n[[ ## completed ## ]]`
    : JSON.stringify(body).includes('"said"')
      ? JSON.stringify({ said: SAID })
      : SAID;
}

/** What ends the work of mini-swe-agent. */
const SUBMIT = `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo '${SAID}'`;
const RESULT = /"role":\s*"tool"|"tool_result"|"function_call_output"/;

function callFor(body: Record<string, unknown>): Call | undefined {
  const [tool] = Array.isArray(body.tools) ? body.tools : [];
  if (!isObject(tool) || RESULT.test(JSON.stringify(body))) return undefined;
  const definition = isObject(tool.function) ? tool.function : tool;
  const schema = definition.parameters ?? definition.input_schema;
  const properties = isObject(schema) && isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const args = Object.fromEntries(properties.map((name) => [name, name === 'command' ? SUBMIT : SAID]));
  return { name: String(definition.name), args };
}
