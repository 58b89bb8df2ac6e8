import { chatRequestOf, promptTokensOf } from './chat-request.ts';
import { chunkBody, completionBody, usageOf } from './chat-shapes.ts';
import type { Pace } from './gate.ts';
import { json, type Script } from './scripts.ts';

export interface MeteredOptions {
  /** How many tokens the model would say if no limit stopped it. */
  tokens: number;
  /** A step generates up to so many tokens. */
  perTick: number;
  /** Awaited before each step: a gate, or an interval of a clock. */
  tick: Pace;
  /** Whether the answer reports usage where the request lets it. */
  reportUsage?: boolean;
}

/**
 * A provider that bills what it generates: it obeys the request's output limit and its `stream`, and stops
 * generating when the peer leaves. `progress` and `hungUp` then say what it bills.
 */
export function metered({ tokens, perTick, tick, reportUsage = true }: MeteredOptions): Script {
  return async (exchange) => {
    const request = await chatRequestOf(exchange);
    const limit = request.max_completion_tokens ?? request.max_tokens ?? tokens;
    const total = Math.min(tokens, limit) * (request.n ?? 1);
    const usage = reportUsage ? usageOf(promptTokensOf(exchange), total) : undefined;
    const chunk = (choice: object | undefined, rest = {}) =>
      exchange.chunk(`data: ${JSON.stringify(chunkBody(request.model, choice, rest))}\n\n`);

    exchange.bill({ input: promptTokensOf(exchange) });
    if (request.stream) await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (let left = total; left > 0; left -= perTick) {
      await exchange.until(tick());
      const count = Math.min(left, perTick);
      exchange.bill({ output: count });
      if (request.stream) await chunk({ delta: { content: 'tok '.repeat(count) } });
    }
    const finish = { finish_reason: total < tokens ? 'length' : 'stop' };
    if (!request.stream) {
      return json(200, completionBody(request.model, 'tok '.repeat(total), usage, finish))(exchange);
    }
    await chunk(finish);
    if (usage && request.stream_options?.include_usage) await chunk(undefined, { usage });
    await exchange.chunk('data: [DONE]\n\n');
    await exchange.finish();
  };
}
