import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { json, respond, type Script } from '../support/scripts.ts';
import { either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text } from '../wire/support/messages-shapes.ts';
import {
  completedEvents,
  messageItem,
  responseBody,
  responseUsage,
} from '../wire/support/responses-shapes.ts';

const SAID = 'Hello you';

/** A provider with all APIs that answers "Hello you", whatever tools there are, and counts four bytes a token. */
export const anyWire: Script = async (exchange) => {
  const body = (await exchange.body).toString();
  const path = exchange.request.path.split('?')[0] ?? '';
  const model = /\/models\/([^:]+):|$/.exec(path)?.[1] ?? /"model":\s*"([^"]*)"/.exec(body)?.[1] ?? 'm';
  await scriptOf(path, model, Math.ceil(body.length / 4))(exchange);
};

function scriptOf(path: string, model: string, inputTokens: number): Script {
  if (path.endsWith('/count_tokens')) return json(200, { input_tokens: inputTokens });
  if (/\/messages$|[rR]awPredict$/.test(path)) {
    const usage = messageUsage(inputTokens, 5);
    const stream = messageStream([text(SAID)], { startUsage: usage, endUsage: usage, rest: { model } });
    return either(messageBody([text(SAID)], { model, usage }), stream);
  }
  if (path.endsWith('/responses')) {
    const rest = { model, usage: responseUsage(inputTokens, 5) };
    return either(responseBody([messageItem(SAID)], rest), completedEvents([SAID], rest));
  }
  if (path.endsWith('/chat/completions')) {
    const usage = usageOf(inputTokens, 5);
    return either(completionBody(model, SAID, usage), [
      ['', chunkBody(model, { delta: { role: 'assistant', content: SAID } })],
      ['', chunkBody(model, { finish_reason: 'stop' })],
      ['', chunkBody(model, undefined, { usage })],
      ['', '[DONE]'],
    ]);
  }
  if (path.includes(':')) {
    const usageMetadata = {
      promptTokenCount: inputTokens,
      candidatesTokenCount: 5,
      totalTokenCount: inputTokens + 5,
    };
    const content = { role: 'model', parts: [{ text: SAID }] };
    const candidates = [{ content, finishReason: 'STOP', index: 0 }];
    const answer = { candidates, usageMetadata, modelVersion: model, responseId: 'r' };
    if (path.endsWith(':generateContent')) return json(200, answer);
    return respond(200, { 'content-type': 'text/event-stream' }, `data: ${JSON.stringify(answer)}\r\n\r\n`);
  }
  return json(404, { error: { message: `no ${path}` } });
}
