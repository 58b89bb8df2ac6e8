import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isObject } from '../../src/json/object.ts';
import { anyWire } from '../agents-real/any-wire.ts';
import { request } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { seededRandom } from '../support/random.ts';

/** Valid requests with the members that clients send, in every shape that the APIs document for them. */
const REQUESTS: Record<string, readonly Record<string, unknown>[]> = {
  '/v1/messages': [
    {
      system: [{ type: 'text', text: 's' }],
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 't', signature: 'c2ln' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: '' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'r' }] }],
        },
      ],
      tools: [
        {
          name: 'f',
          description: '',
          input_schema: { type: 'object', properties: {} },
          cache_control: { type: 'ephemeral' },
        },
      ],
      metadata: { user_id: 'u' },
      stop_sequences: ['x'],
      max_tokens: 9,
    },
    {
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      system: [{ type: 'text', text: 's' }],
    },
  ],
  '/v1/messages/count_tokens': [
    { messages: [{ role: 'user', content: 'hi' }], system: [{ type: 'text', text: 's' }] },
  ],
  '/v1/chat/completions': [
    {
      messages: [
        { role: 'system', content: 's' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'data:,' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } },
      stream_options: { include_usage: true },
      stop: ['x'],
      user: 'u',
      max_completion_tokens: 9,
    },
  ],
  '/v1/responses': [
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'data:,' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'r' },
      ],
      instructions: 's',
      tools: [{ type: 'function', name: 'f', parameters: {} }],
      client_metadata: { thread_id: 't' },
      max_output_tokens: 16,
    },
    { input: 'hi', include: ['reasoning.encrypted_content'], max_output_tokens: 16 },
  ],
  '/v1/completions': [{ prompt: ['a', 'b'], stop: 'x', max_tokens: 9 }],
  '/v1/embeddings': [{ input: ['a', 'b'], encoding_format: 'float' }],
};
/** Claude's names, OpenAI's, and one that no family has. */
const MODELS = ['claude-sonnet-4-5', 'gpt-5.2', 'mock/test-model'];

interface Case {
  path: string;
  body: string;
}

/** Writes a value with its members in another order, and with some of them left out, doubled, emptied or cut short. */
function mutated(value: unknown, next: () => number): string {
  const chance = (oneIn: number) => Math.floor(next() * oneIn) === 0;
  if (typeof value === 'string') {
    const text = chance(6) ? '' : chance(6) ? value.slice(0, Math.floor(next() * value.length)) : value;
    return JSON.stringify(text);
  }
  if (Array.isArray(value)) {
    const items = chance(12) ? [] : chance(12) ? [...value, ...value] : value;
    return `[${items.map((item) => mutated(item, next)).join(',')}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([key]) => key === 'model' || !chance(10))
    .flatMap((member) => (chance(60) ? [member, member] : [member]))
    .map((member) => ({ member, order: next() }))
    .sort((a, b) => a.order - b.order);
  return `{${members.map(({ member: [key, inner] }) => `${JSON.stringify(key)}:${key === 'model' ? JSON.stringify(inner) : mutated(inner, next)}`).join(',')}}`;
}

const cases: fc.Arbitrary<Case> = fc
  .tuple(fc.constantFrom(...Object.keys(REQUESTS)), fc.nat(99), fc.constantFrom(...MODELS), fc.nat())
  .map(([path, which, model, seed]) => {
    const shapes = REQUESTS[path] ?? [];
    const random = seededRandom(seed);
    const next = () => random(4).readUInt32BE() / 2 ** 32;
    return { path, body: mutated({ model, ...shapes[which % shapes.length] }, next) };
  });

const LONG = process.env.GW_LONG === '1';
const RUNS = Number(process.env.GW_FUZZ_CASES ?? (LONG ? 500_000 : 100));

test(
  'no valid request, and none that is nearly so, is answered with a 500 of gw',
  async () => {
    const gateway = await startGateway({
      settings: { 'log.level': 'error' },
      credentials: { openai: 'sk-provider', anthropic: 'sk-ant-provider' },
      budget: { period: 'daily', capUsd: 1_000_000 },
    });
    const at = { baseUrl: gateway.upstream.url };
    gateway.configure({ providers: { openai: at, anthropic: at } });
    gateway.upstream.script(anyWire);
    await gateway.newProject('web');
    const keys = [gateway.key, await gateway.newKey('web')];
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ path, body }) => {
        const answer = await request(gateway.origin, {
          method: 'POST',
          path,
          headers: { authorization: `Bearer ${keys[sent++ % 2]}`, 'content-type': 'application/json' },
          body,
        });
        expect([answer.status, answer.text()]).not.toEqual([500, expect.anything()]);
      }),
      { numRuns: RUNS, ...(process.env.GW_SEED ? { seed: Number(process.env.GW_SEED) } : {}) },
    );
    expect(gateway.upstream.requests.length).toBeGreaterThan(RUNS / 4);
  },
  LONG ? 36_000_000 : 60_000,
);
