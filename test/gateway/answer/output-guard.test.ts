import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { dataOfEvent, endOfEvent } from '../../../src/sse/frame.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { createGate } from '../../support/gate.ts';
import { STREAM, startGateway } from '../../support/gateway.ts';
import { sse } from '../../support/sse-scripts.ts';

const WORDS = Array.from({ length: 4_000 }, (_, i) => ` word${i}`);

function eventsOf(body: Buffer): string[] {
  const events: string[] = [];
  for (let start = 0; start < body.length; ) {
    const end = endOfEvent(body, start);
    events.push(dataOfEvent(body.subarray(start, end < 0 ? body.length : end)));
    start = end < 0 ? body.length : end;
  }
  return events;
}

describe('a provider that ignores the output limit', () => {
  it('is cut off where the hold is used up, with the finish reason length', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const gate = createGate();
    gate.open(3_000);
    // The tokens are counted beside the stream; on a busy machine, a later event finds that there are too many.
    const more = setInterval(() => gate.open(1), 100);
    onTestFinished(() => clearInterval(more));
    gateway.upstream.queue(sse(WORDS, { pace: gate.pass }));
    const answer = await gateway.post({ ...STREAM, max_tokens: 50 });
    const events = eventsOf(answer.body);
    expect(events.at(-1)).toBe('[DONE]');
    const last = JSON.parse(events.at(-2) ?? '');
    expect(last.choices).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: 'length' }]);
    expect(last).toMatchObject({ object: 'chat.completion.chunk', model: 'test-model' });
    // The upstream still waits for leave to send the rest.
    await vi.waitFor(() => expect(gateway.upstream.requests.at(-1)?.hungUp).toBeDefined());
    const [record] = await gateway.settled(1);
    expect(record?.outcome).toBe('capped');
    expect(record?.flags).toContain('estimated');
    expect(record?.costNanoUsd).toBeGreaterThan(0);
    expect(record?.costNanoUsd).toBeLessThanOrEqual(record?.holdNanoUsd ?? 0);
  });

  it('is cut off too when what it sends cannot be read', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const textOf = vi.spyOn(chatWire, 'textOf').mockImplementation(() => {
      throw new Error('unreadable');
    });
    onTestFinished(() => textOf.mockRestore());
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(`data: {"choices":[{"delta":{"content":"${'x'.repeat(5_000)}"}}]}\n\n`);
      await exchange.untilGone();
    });
    await gateway.post({ ...STREAM, max_tokens: 50 });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'capped', costNanoUsd: record?.holdNanoUsd });
  });

  it('is left alone when it has sent as many bytes as tokens were held for, which are fewer tokens', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    // Twice the limit is let through where the tokenizer is not known; the padding makes gw look at once.
    const delta = { content: 'measure '.repeat(25) };
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      const event = { choices: [{ index: 0, delta, finish_reason: 'stop' }], padding: 'x'.repeat(5_000) };
      await exchange.chunk(`data: ${JSON.stringify(event)}\n\n`);
      await gateway.get('/v1/usage');
      await exchange.chunk('data: [DONE]\n\n');
      await exchange.finish();
    });
    const answer = await gateway.post({ ...STREAM, max_tokens: 100 });
    expect(eventsOf(answer.body).at(-1)).toBe('[DONE]');
    expect((await gateway.settled(1))[0]?.outcome).toBe('ok');
  });

  it('is left alone while it thinks within what was asked for beyond the limit', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const thoughts = { choices: [{ index: 0, delta: { reasoning_content: 'measure '.repeat(600) } }] };
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(`data: ${JSON.stringify(thoughts)}\n\n`);
      await gateway.get('/v1/usage');
      await exchange.chunk('data: [DONE]\n\n');
      await exchange.finish();
    });
    const thinking = { type: 'enabled', budget_tokens: 5_000 };
    const answer = await gateway.post({ ...STREAM, max_tokens: 100, thinking });
    expect(eventsOf(answer.body).at(-1)).toBe('[DONE]');
    expect((await gateway.settled(1))[0]?.outcome).toBe('ok');
  });

  it('is left alone without a budget', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(sse(WORDS.slice(0, 500)));
    const answer = await gateway.post({ ...STREAM, max_tokens: 50 });
    expect(eventsOf(answer.body).filter((data) => data.includes(' word'))).toHaveLength(500);
    expect((await gateway.settled(1))[0]?.outcome).toBe('ok');
  });
});
