import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { json, type Script } from '../support/scripts.ts';
import { either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { completedEvents, messageItem, responseBody } from '../wire/support/responses-shapes.ts';

const SAID = 'Hello you';

/** A provider with all APIs that answers "Hello you", whatever tools there are. */
export const anyWire: Script = async (exchange) => {
  const path = exchange.request.path.split('?')[0] ?? '';
  await scriptOf(path)(exchange);
};

function scriptOf(path: string): Script {
  if (path.endsWith('/messages')) return either(messageBody([text(SAID)]), messageStream([text(SAID)]));
  if (path.endsWith('/responses')) return either(responseBody([messageItem(SAID)]), completedEvents([SAID]));
  if (path.endsWith('/chat/completions')) {
    const usage = usageOf(20, 5);
    return either(completionBody('m', SAID, usage), [
      ['', chunkBody('m', { delta: { role: 'assistant', content: SAID } })],
      ['', chunkBody('m', { finish_reason: 'stop' })],
      ['', chunkBody('m', undefined, { usage })],
      ['', '[DONE]'],
    ]);
  }
  return json(404, { error: { message: `no ${path}` } });
}
