import type { Script } from '../support/scripts.ts';
import { either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { completedEvents, messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { anyWire } from './any-wire.ts';

/**
 * A provider that answers "Hello you", each time under another id and with other usage. Gemini's API gives no id, and Cline, which
 * speaks chat completions, logs none.
 */
export function numbered(): Script {
  let answers = 0;
  return async (exchange) => {
    if (/:|\/chat\/completions$/.test(exchange.request.path)) return anyWire(exchange);
    const number = ++answers;
    const isMessages = exchange.request.path.includes('/messages');
    const usage = isMessages ? messagesUsage(number) : responsesUsage(number);
    const own = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value), (name, each) => {
        if (name === 'usage' && each) return usage;
        return typeof each === 'string' ? each.replace(/^(msg|resp)_1$/, `$1_${number}`) : each;
      }) as T;
    const script = isMessages
      ? either(own(messageBody([text('Hello you')])), own(messageStream([text('Hello you')])))
      : either(own(responseBody([messageItem('Hello you')])), own(completedEvents(['Hello you'])));
    await script(exchange);
  };
}

function messagesUsage(number: number) {
  return {
    input_tokens: 20 + number,
    cache_read_input_tokens: 1_000 + number,
    cache_creation_input_tokens: 300 + number,
    cache_creation: { ephemeral_5m_input_tokens: 200 + number, ephemeral_1h_input_tokens: 100 },
    output_tokens: 40 + number,
  };
}

function responsesUsage(number: number) {
  return {
    input_tokens: 2_000 + number,
    input_tokens_details: { cached_tokens: 1_500 + number },
    output_tokens: 50 + number,
    output_tokens_details: { reasoning_tokens: 10 },
    total_tokens: 2_050 + 2 * number,
  };
}
