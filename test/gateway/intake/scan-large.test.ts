import { describe, expect, test } from 'vitest';
import {
  plainLetters,
  scanLoosely,
  scanRequest,
  translateInThread,
} from '../../../src/gateway/intake/scan-large.ts';
import { toolsByName } from '../../../src/translation/apis/responses/tool-names.ts';
import { translateBody, wireOf } from '../../../src/translation/translate.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { completionsWire } from '../../../src/wire/apis/completions.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../../src/wire/apis/responses.ts';
import { scanBody } from '../../../src/wire/request/scan/body-scan.ts';

const LONG = 'The quick brown fox jumps over the lazy dog. '.repeat(30_000);
const PICTURE =
  '{"type":"image_url","image_url":{"url":"data:,"}},{"type":"image","cache_control":{"ttl":"1h"}}';
const body = (text: string) =>
  Buffer.from(`{"model":"m","messages":[{"role":"user","content":[${PICTURE}]}],"input":"${text}","x":1}`);
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

describe('a large body', () => {
  test.each([chatWire, completionsWire, embeddingsWire, messagesWire, responsesWire, compactWire])(
    'of $endpoint is scanned in a thread with the same result',
    async (wire) => {
      const bytes = body(LONG);
      const scan = scanRequest(bytes, wire);
      expect(scan).toBeInstanceOf(Promise);
      expect(await scan).toEqual(wire.scan(bytes));
      const { bytes: _, ...request } = wire.parse(bytes, await scan);
      expect(wire.parse(bytes)).toMatchObject(request);
    },
  );

  test('is scanned at once if little of it is new', async () => {
    const bytes = body(LONG);
    const longer = Buffer.concat([bytes.subarray(0, -1), Buffer.from(',"y":2}')]);
    const earlier = { entry: { bytes, scan: await scanRequest(bytes, chatWire) }, shared: bytes.length - 1 };
    const scan = scanRequest(longer, chatWire, earlier);
    expect(scan).not.toBeInstanceOf(Promise);
    expect(await scan).toEqual(chatWire.scan(longer));
  });

  test('is refused with the same words', async () => {
    for (const bytes of [body(LONG).subarray(0, -1), Buffer.concat([body(LONG), Buffer.from([0xff])])]) {
      const refusal = await Promise.resolve(scanRequest(bytes, chatWire)).catch((error: unknown) => error);
      let expected: unknown;
      try {
        chatWire.scan(bytes);
      } catch (error) {
        expected = error;
      }
      expect(expected).toMatchObject({ status: 400, code: 'invalid_json' });
      expect(refusal).toMatchObject({
        status: 400,
        code: 'invalid_json',
        message: (expected as Error).message,
      });
    }
  });

  test('of any other API is scanned if it is sent as JSON', async () => {
    const bytes = body(LONG);
    expect(await scanLoosely(bytes, JSON_TYPE)).toEqual(scanBody(bytes, undefined));
    expect(await scanLoosely(bytes.subarray(1), JSON_TYPE)).toBeNull();
    expect(await scanLoosely(bytes, { 'content-type': 'text/plain' })).toBeUndefined();
    expect(await scanLoosely(Buffer.from('{}'), JSON_TYPE)).toBeUndefined();
  });

  test('gets plain letters', async () => {
    const escaped = body(LONG.replaceAll('q', '\\u0071'));
    const inThread = plainLetters(escaped);
    expect(inThread).toBeInstanceOf(Promise);
    expect(body(LONG).equals(await inThread)).toBe(true);
    const plain = body(LONG);
    expect((await plainLetters(plain)).equals(plain)).toBe(true);
    expect(plainLetters(Buffer.from('"\\u0071"'))).toEqual(Buffer.from('"q"'));
  });

  describe('is translated in a thread', () => {
    const options = {
      provider: 'mock',
      dialect: {},
      model: 'm',
      maxTokens: 8_000,
      outputLimit: 'max_tokens',
      isCodex: false,
    } as const;
    const items = (text: string, more: object = {}) => ({
      model: 'm',
      instructions: text,
      input: [
        { type: 'item_reference', id: 'msg_1' },
        { type: 'additional_tools', tools: [{ type: 'custom', name: 'patch' }] },
        { role: 'user', content: 'go on', ...more },
      ],
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
    });
    const STORED = { type: 'message', role: 'assistant', content: 'what was said' };
    const memory = { recall: (id: string) => (id === 'msg_1' ? STORED : undefined) };

    test.each(['chat/completions', 'messages'] as const)(
      'with the same result: responses for %s',
      async (to) => {
        const route = { from: 'responses', to } as const;
        const bytes = Buffer.from(JSON.stringify(items(LONG)));
        const inThread = await translateInThread(bytes, route, options, memory);
        const { scan, request, bytes: translated, ...rest } = inThread;
        const { request: whole, bytes: expected, ...others } = translateBody(bytes, route, options, memory);
        // toEqual() looks at the megabytes one by one.
        expect(translated.equals(expected)).toBe(true);
        expect(rest).toEqual(others);
        expect(translated.includes('what was said')).toBe(true);
        expect(scan).toEqual(wireOf(route.to, route.from).scan(translated));
        // Answers name the tools as the request does, and repeat no megabytes of it.
        expect(JSON.stringify(request).length).toBeLessThan(300_000);
        expect(whole.instructions).toBe(LONG);
      },
    );

    test("with the tools that an answer's calls are named by", async () => {
      const text = { content: LONG };
      const bytes = Buffer.from(JSON.stringify(items('short', text)));
      const route = { from: 'responses', to: 'chat/completions' } as const;
      const { request } = await translateInThread(bytes, route, options, memory);
      expect([...toolsByName(request).keys()]).toEqual(['f', 'patch']);
      expect(request).toMatchObject({ instructions: 'short' });
    });

    test('or refused with the same words', async () => {
      const bytes = Buffer.from(JSON.stringify(items(LONG)));
      const route = { from: 'responses', to: 'chat/completions' } as const;
      const forgotten = { recall: () => undefined };
      await expect(translateInThread(bytes, route, options, forgotten)).rejects.toMatchObject({
        status: 400,
        param: 'input[0]',
        message: expect.stringContaining('no longer has the item msg_1'),
      });
    });
  });
});
