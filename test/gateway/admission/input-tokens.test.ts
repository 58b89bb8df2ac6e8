import { describe, expect, test } from 'vitest';
import { countInput, inputBound } from '../../../src/gateway/admission/input-tokens.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const PER_REQUEST = 64;
const FOR_TOOLS = 2_500;

const at = (provider: string, model = 'test-model') => ({ provider: { name: provider }, model }) as Target;

async function start() {
  const { contextOf, gateway } = await openGatewayParts();
  const contextFor = (body: object, wire?: Wire) => contextOf({ model: 'test-model', ...body }, wire);
  return {
    gateway,
    contextFor,
    /** The bound, less the bytes of the body. */
    beyondBytes(body: object, target: Target, wire?: Wire) {
      const context = contextFor(body, wire);
      return inputBound(context, target) - context.request.bytes.length;
    },
  };
}

const say = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const PADDING = 'x'.repeat(3_000);

describe('the bound by bytes', () => {
  test('adds what text grows by when it is normalised', async () => {
    const { beyondBytes } = await start();
    for (const padding of ['', PADDING]) {
      expect(beyondBytes(say(`plain ${padding}`), at('openai'))).toBe(PER_REQUEST);
      expect(beyondBytes(say(`\ufdfa ${padding}`), at('openai'))).toBe(PER_REQUEST + 30);
    }
  });

  test('adds what JSON grows by where a template may write it anew', async () => {
    const { beyondBytes } = await start();
    const tools = [{ type: 'function', function: { name: 'T', description: '漢字 <b>' } }];
    for (const padding of ['', PADDING]) {
      const body = { ...say(`漢字 <b> ${padding}`), tools };
      expect(beyondBytes(body, at('openai'))).toBe(PER_REQUEST + FOR_TOOLS);
      // Two characters as escapes, two HTML escapes, and the lines of two objects with three commas.
      expect(beyondBytes(body, at('mine'))).toBeGreaterThanOrEqual(
        PER_REQUEST + FOR_TOOLS + 2 * 6 + 2 * 5 + 7 * 3,
      );
    }
    expect(beyondBytes(say(`漢字 <b> ${PADDING}`), at('mine'))).toBe(PER_REQUEST);
  });

  test('adds a definition for each reference to it', async () => {
    const { beyondBytes } = await start();
    const tool = { name: 'Far', description: 'x'.repeat(200), input_schema: {}, defer_loading: true };
    const content = new Array(3).fill({ type: 'tool_reference', tool_name: 'Far' });
    for (const padding of ['', PADDING]) {
      const body = {
        ...say([
          { type: 'tool_result', tool_use_id: 'a', content },
          { type: 'text', text: `a${padding}` },
        ]),
        max_tokens: 5,
        tools: [tool],
      };
      const least = PER_REQUEST + FOR_TOOLS + 3 * JSON.stringify(tool).length;
      expect(beyondBytes(body, at('anthropic'), messagesWire)).toBeGreaterThanOrEqual(least);
      expect(beyondBytes(body, at('anthropic'), messagesWire)).toBeLessThan(least + 20);
      // Of several tools only those that are referred to.
      const near = { ...tool, name: 'Near', description: 'x'.repeat(5_000) };
      const both = { ...body, tools: [tool, near] };
      expect(beyondBytes(both, at('anthropic'), messagesWire)).toBeLessThan(least + 20);
    }
  });

  test.each([
    ['claude-sonnet-4-5', 'low', 12_000],
    ['gpt-5.4', 'original', 17_200],
    ['qwen2.5-vl', 'low', 16_384],
    ['gpt-4o-mini', 'low', 48_200],
  ])('adds an image for %s with detail %s at %i tokens', async (model, detail, tokens) => {
    const { beyondBytes } = await start();
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aa', detail } };
    expect(beyondBytes(say([image, { type: 'text', text: PADDING }]), at('openai', model))).toBe(
      PER_REQUEST + tokens,
    );
    // A small body is not split, and a quick scan takes the type and the field for an image each.
    expect(beyondBytes(say([image]), at('openai', model))).toBe(PER_REQUEST + 2 * tokens);
  });
});

const BASE64 = 'QUJD'.repeat(50_000);
const inlineUrl = `data:image/png;base64,${BASE64}`;
const messagesImage = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: BASE64 } };

describe('the bytes of an image in the request', () => {
  test.each<[string, object, Wire]>([
    ['messages', { ...say([messagesImage, { type: 'text', text: PADDING }]), max_tokens: 5 }, messagesWire],
    [
      'a result in messages',
      {
        ...say([
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [messagesImage, { type: 'text', text: PADDING }],
          },
        ]),
        max_tokens: 5,
      },
      messagesWire,
    ],
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: inlineUrl }] }], store: false },
      responsesWire,
    ],
  ])('are no text in %s', async (_where, body, wire) => {
    const { beyondBytes } = await start();
    const beyond = beyondBytes(body, at('openai', 'gpt-5'), wire);
    expect(beyond + BASE64.length).toBeGreaterThanOrEqual(
      PER_REQUEST + 12_000 - 'data:image/png;base64,""'.length,
    );
    expect(beyond + BASE64.length).toBeLessThanOrEqual(PER_REQUEST + 12_000);
  });

  test('may be text in chat completions, also where the rest is counted exactly', async () => {
    const { gateway, contextFor } = await start();
    const bound = { inputTokens: 1e9, inputBound: 'bytes' as const };
    const chat = contextFor(say([{ type: 'image_url', image_url: { url: inlineUrl } }]));
    const counted = await countInput(gateway, chat, at('openai', 'gpt-5'), bound);
    expect(counted.by).toBe('exact');
    expect(counted.tokens).toBeGreaterThan(BASE64.length + 12_000);
    expect(counted.tokens).toBeLessThan(BASE64.length + 12_200);
    const input = [{ role: 'user', content: [{ type: 'input_image', image_url: inlineUrl }] }];
    const response = contextFor({ input }, responsesWire);
    expect((await countInput(gateway, response, at('openai', 'gpt-5'), bound)).tokens).toBeLessThan(12_200);
  });
});

test('results are counted as JSON for gpt-oss at hosts whose escapes are unknown', async () => {
  const { gateway, contextFor } = await start();
  const context = contextFor({
    messages: [{ role: 'tool', tool_call_id: 'a', content: 'if (a < b && c) {\n}\n'.repeat(50) }],
  });
  const count = (target: Target) =>
    countInput(gateway, context, target, { inputTokens: 1e9, inputBound: 'bytes' });
  const plain = await count(at('openai', 'gpt-5'));
  const escaped = await count(at('groq', 'openai/gpt-oss-120b'));
  expect(plain.by).toBe('exact');
  expect(escaped.tokens).toBeGreaterThan(1.14 * plain.tokens);
});
