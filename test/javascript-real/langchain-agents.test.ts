import { expect, test } from 'vitest';
import type { RequestView } from '../../src/operations/schemas/requests.ts';
import { requestResponse } from '../../src/store/requests/request-log.ts';
import { factsOf } from '../../src/terminal/request-facts.ts';
import { createTimeFormat } from '../../src/terminal/time.ts';
import { json } from '../support/scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';
import { sentBody } from '../wire/support/send.ts';
import { loadSdk } from './load-sdk.ts';

interface LangChain {
  ChatOpenAI: new (options: object) => { invoke(messages: unknown): Promise<{ content: unknown }> };
}
interface Messages {
  AIMessage: new (fields: object) => object;
  HumanMessage: new (fields: object) => object;
}
const langchain = await loadSdk<LangChain>('@langchain/openai');
const core = await loadSdk<Messages>('@langchain/core/messages');

test('named agents of LangChain may use a model of Anthropic', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(json(200, messageBody([text('Hello you')])));
  const chat = new langchain.ChatOpenAI({
    model: `anthropic/${CLAUDE}`,
    apiKey: gateway.key,
    configuration: { baseURL: gateway.url },
    maxRetries: 0,
    modelKwargs: { seed: 7, metadata: { graph: 'g' }, logit_bias: { 50256: -100 } },
  });
  const { content } = await chat.invoke([
    new core.HumanMessage({ content: 'Hi', name: 'Ann' }),
    new core.AIMessage({ content: 'So', name: 'researcher' }),
    new core.HumanMessage({ content: 'Go on' }),
  ]);
  expect(content).toBe('Hello you');
  expect(sentBody(gateway).messages).toEqual([
    { role: 'user', content: [text('Hi')] },
    { role: 'assistant', content: [text('So')] },
    { role: 'user', content: [text('Go on')] },
  ]);
  const leftOut = ['messages[].name', 'metadata', 'logit_bias', 'seed'];
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ outcome: 'ok', detail: { left_out: leftOut } });
  if (!record) throw new Error('nothing is on record');
  const shown = requestResponse(record) as unknown as RequestView;
  expect(factsOf(shown, createTimeFormat('UTC'))).toContainEqual([
    'left out',
    "messages[].name, metadata, logit_bias, seed, which the provider's API lacks",
  ]);
});
