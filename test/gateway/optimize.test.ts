import { describe, expect, it } from 'vitest';
import { MODEL, startGateway } from '../support/gateway.ts';

const ROWS = Array.from({ length: 200 }, (_, id) => ({
  id,
  name: `item ${id}`,
  state: 'active',
  owner: 'team-a',
}));
const LONG = {
  model: MODEL,
  messages: [
    { role: 'user' as const, content: 'List the items.' },
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function' as const, function: { name: 'list', arguments: '{}' } }],
    },
    { role: 'tool' as const, tool_call_id: 'call_1', content: JSON.stringify(ROWS) },
    { role: 'user' as const, content: 'How many are there?' },
  ],
};
const SIZE = JSON.stringify(LONG).length;

type Sent = { messages: { role: string; content: string | null }[] };

describe('the optimizer on the path of a request', () => {
  it('shortens what tools returned, leaves the rest, and says what was saved', async () => {
    const gateway = await startGateway();
    const answer = await gateway.post(LONG);
    const sent = gateway.upstream.requests.at(-1)?.body ?? Buffer.alloc(0);
    expect(sent.length).toBeLessThan(SIZE * 0.7);
    const { messages } = JSON.parse(sent.toString()) as Sent;
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages[0]).toEqual(LONG.messages[0]);
    expect(messages[1]).toEqual(LONG.messages[1]);
    expect(messages[3]).toEqual(LONG.messages[3]);
    const [record] = await gateway.settled(1);
    expect(record?.savedTokens).toBeGreaterThan(500);
    expect(record?.savedNanoUsd).toBeGreaterThan(0);
    expect(answer.header('x-service-saved-tokens')).toBe(String(record?.savedTokens));
  });

  it('sends the same bytes for the same prefix, however the conversation goes on', async () => {
    const gateway = await startGateway();
    await gateway.post(LONG);
    await gateway.post({ ...LONG, messages: [...LONG.messages, { role: 'user', content: 'And now?' }] });
    const [first, second] = gateway.upstream.requests.map(
      ({ body }) => (JSON.parse(body.toString()) as Sent).messages,
    );
    expect(second?.slice(0, first?.length)).toEqual(first);
  });

  it.each([
    ['by the request', { service: { optimize: false } }, undefined],
    ['by the project', {}, { 'optimizer.projects': { default: 'off' as const } }],
    ['for all', {}, { 'optimizer.level': 'off' as const }],
  ])('can be switched off %s', async (_, extra, settings) => {
    const gateway = await startGateway(settings ? { settings } : {});
    await gateway.post({ ...LONG, ...extra });
    const sent = JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '') as Sent;
    expect(sent.messages).toEqual(LONG.messages);
    expect((await gateway.settled(1))[0]?.savedTokens).toBe(0);
  });
});
