import { expect, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { startGateway } from '../support/gateway.ts';
import { json, respond, type Script } from '../support/scripts.ts';

/** Tokens and price of a request as its provider bills it. */
interface Bill {
  inputTokens: number;
  outputTokens: number;
  /** Dollars a million tokens. */
  inputUsd: number;
  outputUsd: number;
  /** Behind each of these results of code the model reads its prompt, and what was printed so far, again. */
  printed?: readonly number[];
}

const WORDS = 'The quick brown fox jumps over the lazy dog and runs away from the bear that sleeps. ';
const text = (i: number) => `${i}: ${WORDS.repeat(20)}`;
const CODE = { type: 'code_execution_20260120', name: 'code_execution' };

function readTokens({ inputTokens, printed = [] }: Bill): number {
  let context = inputTokens;
  return printed.reduce((sum, tokens) => {
    context += tokens;
    return sum + context;
  }, inputTokens);
}

const usdOf = (bill: Bill): number =>
  (readTokens(bill) * bill.inputUsd + bill.outputTokens * bill.outputUsd) / 1e6;

const events = (list: { type: string; [field: string]: unknown }[]): string =>
  list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** A message whose code printed what the bill says, about four bytes a token. */
function codeStream(bill: Bill, model: string): Script {
  const { inputTokens, outputTokens, printed = [] } = bill;
  const usage = { input_tokens: inputTokens, output_tokens: 1 };
  return respond(
    200,
    { 'content-type': 'text/event-stream' },
    events([
      { type: 'message_start', message: { id: 'msg_1', type: 'message', model, usage } },
      ...printed.map((tokens, index) => ({
        type: 'content_block_start',
        index,
        content_block: {
          type: 'bash_code_execution_tool_result',
          content: { type: 'bash_code_execution_result', stdout: 'abc '.repeat(tokens) },
        },
      })),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', container: null },
        usage: { input_tokens: readTokens(bill), output_tokens: outputTokens },
      },
      { type: 'message_stop' },
    ]),
  );
}

const message = (bill: Bill, model: string, more: object = {}): Script =>
  json(200, {
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'Done' }],
    usage: { input_tokens: bill.inputTokens, output_tokens: bill.outputTokens, ...more },
  });

const completion = (bill: Bill, model: string): Script =>
  json(200, {
    object: 'chat.completion',
    model,
    service_tier: 'priority',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: bill.inputTokens,
      completion_tokens: bill.outputTokens,
      total_tokens: bill.inputTokens + bill.outputTokens,
    },
  });

test.each([
  {
    what: 'fast mode',
    model: 'anthropic/claude-opus-5',
    capUsd: 2,
    body: { speed: 'fast', max_tokens: 500 },
    bill: { inputTokens: 420, outputTokens: 300, inputUsd: 10, outputUsd: 50 },
    answer: (bill: Bill, model: string) => message(bill, model, { speed: 'fast' }),
  },
  {
    what: 'priority',
    model: 'openai/gpt-5.4-mini',
    capUsd: 0.3,
    body: { service_tier: 'priority', max_completion_tokens: 500 },
    bill: { inputTokens: 420, outputTokens: 300, inputUsd: 1.5, outputUsd: 9 },
    answer: completion,
  },
  {
    what: 'code that runs',
    model: 'anthropic/claude-haiku-4-5',
    capUsd: 40,
    body: { stream: true, max_tokens: 2_000, tools: [CODE] },
    bill: {
      inputTokens: 3_000,
      outputTokens: 1_500,
      inputUsd: 1,
      outputUsd: 5,
      printed: [8_000, 500, 2_000, 12_000, 100],
    },
    answer: codeStream,
  },
])('a cap is used to its end by requests with $what', async ({ model, capUsd, body, bill, answer }) => {
  const gateway = await startGateway({ budget: { period: 'daily', capUsd }, alone: true });
  const [provider = '', name = ''] = model.split('/');
  const wire = provider === 'anthropic' ? 'anthropic' : 'openai';
  gateway.configure({ providers: { [provider]: { baseUrl: gateway.upstream.url, wire } } });
  const path = wire === 'anthropic' ? '/v1/messages' : '/v1/chat/completions';
  const done = answer(bill, name);
  const counted = json(200, { input_tokens: bill.inputTokens });
  gateway.upstream.script((exchange) =>
    (exchange.request.path.includes('count_tokens') ? counted : done)(exchange),
  );
  let billed = 0;
  let served = 0;
  for (; served < 2_000; served++) {
    const messages = [{ role: 'user', content: text(served) }];
    const { status } = await gateway.post({ model, messages, ...body }, { path });
    if (status !== 200) break;
    billed += usdOf(bill);
  }
  const records = await gateway.settled(served);
  const booked = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0) / NANO_PER_USD;
  expect(billed).toBeLessThanOrEqual(capUsd);
  expect(booked).toBeLessThanOrEqual(capUsd);
  // The last answers may be cut, and are booked at what they may have cost.
  expect(booked).toBeGreaterThan(billed - 1e-6);
  // Who knew each request's tokens would hold its cost, and 256 tokens of output at the least.
  const least = usdOf({ ...bill, outputTokens: 256 });
  const ideal = Math.floor((capUsd - least) / usdOf(bill) + 1) * usdOf(bill);
  expect(billed / capUsd).toBeGreaterThan(ideal / capUsd - 0.02);
});
