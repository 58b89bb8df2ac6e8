import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openConnection, requestBytes } from '../../support/client.ts';
import { PLAIN, STREAM, startGateway, type TestGateway } from '../../support/gateway.ts';
import { json, raw, respond, status } from '../../support/scripts.ts';
import { sse } from '../../support/sse-scripts.ts';

/** The headers of the upstream request, in lower case and in order. */
async function seenHeaders(gateway: TestGateway): Promise<[string, string][]> {
  const { head } = await gateway.upstream.nextRequest();
  return head.headers.map(([name, value]) => [name.toLowerCase(), value]);
}

const valuesOf = (headers: [string, string][], name: string) =>
  headers.filter(([key]) => key === name).map(([, value]) => value);

describe('the upstream gets', () => {
  test("the provider's key and none of the client's credentials", async () => {
    const gateway = await startGateway({ credentials: { mock: 'provider-key' } });
    await gateway.post(PLAIN, {
      headers: {
        'x-api-key': 'canary-1',
        'api-key': 'canary-2',
        'x-goog-api-key': 'canary-3',
        cookie: 'canary-4',
        'proxy-authorization': 'Basic canary-5',
        origin: gateway.origin,
        referer: 'http://localhost/canary-6',
        'x-service-budget': 'default',
        'x-service-future': 'canary-7',
      },
    });
    const headers = await seenHeaders(gateway);
    expect(valuesOf(headers, 'authorization')).toEqual(['Bearer provider-key']);
    expect(JSON.stringify(headers)).not.toMatch(/canary|sk-gw-/);
    expect(headers.some(([name]) => name.startsWith('x-service-') || name === 'origin')).toBe(false);
  });

  test('no authorization if the provider has no key', async () => {
    const gateway = await startGateway({ credentials: {} });
    await gateway.post(PLAIN);
    expect(valuesOf(await seenHeaders(gateway), 'authorization')).toEqual([]);
  });

  test("the client's own headers, with repeated ones and odd values unchanged", async () => {
    const gateway = await startGateway({ alone: true });
    const connection = await openConnection(gateway.url);
    const bytes = requestBytes(`${gateway.url}/complete`, {
      body: PLAIN,
      headers: {
        Authorization: `Bearer ${gateway.key}`,
        'User-Agent': 'OpenAI/JS 6.49.0',
        'X-Stainless-Retry-Count': '0',
        'OpenAI-Beta': 'assistants=v2',
        'anthropic-version': '2023-06-01',
        'X-Twice': 'one\r\nX-Twice: two',
        'X-Latin': 'caf\u00e9',
        'x-empty': '',
        accept: 'application/json',
      },
    });
    await connection.send(bytes);
    expect((await connection.response()).status).toBe(200);
    const headers = await seenHeaders(gateway);
    expect(valuesOf(headers, 'user-agent')).toEqual(['OpenAI/JS 6.49.0']);
    expect(valuesOf(headers, 'x-stainless-retry-count')).toEqual(['0']);
    expect(valuesOf(headers, 'openai-beta')).toEqual(['assistants=v2']);
    expect(valuesOf(headers, 'anthropic-version')).toEqual(['2023-06-01']);
    expect(valuesOf(headers, 'x-twice')).toEqual(['one', 'two']);
    expect(valuesOf(headers, 'x-latin')).toEqual(['caf\u00e9']);
    expect(valuesOf(headers, 'x-empty')).toEqual(['']);
    expect(valuesOf(headers, 'content-type')).toEqual(['application/json']);
    connection.hangUp();
  });

  test('no hop-by-hop headers, nor those that the connection header names', async () => {
    const gateway = await startGateway({ alone: true });
    await gateway.post(PLAIN, {
      headers: {
        connection: 'keep-alive, X-Hop , x-other',
        'x-hop': 'canary',
        'x-other': 'canary',
        'keep-alive': 'timeout=canary',
        te: 'trailers',
        'proxy-connection': 'keep-alive',
        upgrade: 'canary',
        'accept-encoding': 'gzip, br',
        'x-end-to-end': 'stays',
      },
    });
    const headers = await seenHeaders(gateway);
    expect(JSON.stringify(headers)).not.toContain('canary');
    expect(valuesOf(headers, 'accept-encoding')).toEqual(['identity']);
    expect(valuesOf(headers, 'x-end-to-end')).toEqual(['stays']);
    expect(headers.some(([name]) => name === 'te' || name === 'proxy-connection')).toBe(false);
    expect(valuesOf(headers, 'host')).toEqual([`127.0.0.1:${gateway.upstream.port}`]);
    expect(valuesOf(headers, 'content-length')).toEqual([String(gateway.upstream.requests[0]?.body.length)]);
  });

  test('the query string', async () => {
    const gateway = await startGateway({ alone: true });
    await gateway.post(PLAIN, { path: '/v1/complete?api-version=2026-01-01&x=%20y' });
    const { path } = await gateway.upstream.nextRequest();
    expect(path).toBe('/v1/chat/completions?api-version=2026-01-01&x=%20y');
  });

  test('the key in its own header if it has one', async () => {
    const gateway = await startGateway({ credentials: { azure: 'azure-key', mock: 'x' } });
    gateway.configure({ providers: { azure: { baseUrl: gateway.upstream.url } } });
    await gateway.post({ ...PLAIN, model: 'azure/gpt-4o' });
    const headers = await seenHeaders(gateway);
    expect([valuesOf(headers, 'api-key'), valuesOf(headers, 'authorization')]).toEqual([['azure-key'], []]);
  });
});

describe('the client gets', () => {
  const upstreamHeaders = {
    'x-request-id': 'req_upstream',
    'x-ratelimit-remaining-requests': '17',
    'x-ratelimit-reset-tokens': '6ms',
    'retry-after': '3',
    'retry-after-ms': '2500',
    'x-should-retry': 'true',
    'openai-processing-ms': '12',
    date: 'Mon, 01 Jan 2026 00:00:00 GMT',
    'cf-ray': 'abc',
  };

  test.each([200, 429, 503])("the upstream's headers with a %i", async (code) => {
    const gateway = await startGateway();
    gateway.upstream.queue(json(code, { usage: null }, upstreamHeaders));
    const answer = await gateway.post(PLAIN);
    expect(answer.status).toBe(code);
    for (const [name, value] of Object.entries(upstreamHeaders))
      expect([name, answer.header(name)]).toEqual([name, value]);
  });

  test('no hop-by-hop headers, no cookie, and no headers that pose as those of gw', async () => {
    const gateway = await startGateway();
    const headers = {
      'set-cookie': '__cf_bm=canary; domain=api.openai.com',
      'keep-alive': 'timeout=canary',
      'proxy-authenticate': 'canary',
      'alt-svc': 'h3=":443"; canary',
      'strict-transport-security': 'max-age=canary',
      'x-service-cost-usd': 'canary',
      'x-service-anything': 'canary',
    };
    for (const script of [json(200, {}, headers), sse(['Hi'], { headers })]) {
      gateway.upstream.queue(script);
      const answer = await gateway.post(STREAM);
      expect(answer.head.raw.toString()).not.toContain('canary');
      expect(answer.header('content-type')).toBeDefined();
    }
  });

  test('the headers of gw, before the cost is known and after', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const plain = await gateway.post({ ...PLAIN, max_tokens: 100 });
    const [first] = await gateway.records();
    const cost = (first?.costNanoUsd ?? 0) / 1e9;
    expect(plain.header('x-service-model')).toBe('test-model');
    expect(plain.header('x-service-provider')).toBe('mock');
    expect(plain.header('x-service-route')).toBe('as-asked');
    expect(plain.header('x-service-saved-tokens')).toBe('0');
    expect(Number(plain.header('x-service-cost-usd'))).toBe(cost);
    expect(Number(plain.header('x-service-budget-remaining-usd'))).toBeCloseTo(1 - cost, 9);
    const streamed = await gateway.post({ ...STREAM, max_tokens: 100, service: { route: false } });
    expect(streamed.header('x-service-route')).toBe('off');
    expect(streamed.header('x-service-cost-usd')).toBeUndefined();
    expect(Number(streamed.header('x-service-budget-remaining-usd'))).toBeLessThan(1 - cost);
  });

  test.each([
    ['non-ASCII', 'modèle-✓'],
    ['a lone surrogate', 'm\ud800'],
    ['a line break', 'm\r\nx-evil: 1'],
    ['the longest possible name', 'm'.repeat(500)],
  ])('comes a model name with %s in a form that a header takes', async (_name, model) => {
    const gateway = await startGateway();
    for (const body of [PLAIN, STREAM]) {
      const answer = await gateway.post({ ...body, model: `mock/${model}`.slice(0, 500) });
      expect(answer.status).toBe(200);
      expect(answer.complete).toBe(true);
      expect(answer.header('x-evil')).toBeUndefined();
      expect(answer.header('x-service-model')).toMatch(/^m/);
    }
  });

  test('gzip unchanged although identity was requested, and it is metered', async () => {
    const gateway = await startGateway();
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    const body = gzipSync(JSON.stringify({ choices: [{ message: { content: 'Hi' } }], usage }));
    gateway.upstream.queue(
      respond(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body),
    );
    const answer = await gateway.post(PLAIN);
    expect(answer.header('content-encoding')).toBe('gzip');
    expect(answer.body.equals(body)).toBe(true);
    expect(await gateway.records()).toMatchObject([{ inputTokens: 10, outputTokens: 5, flags: [] }]);
  });

  test('a gzip stream decoded, as the client may not have asked for it either', async () => {
    const gateway = await startGateway();
    const text = 'data: {"choices":[{"delta":{"content":"a lot"}}]}\n\ndata: [DONE]\n\n';
    gateway.upstream.queue(
      respond(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, gzipSync(text)),
    );
    const answer = await gateway.post(STREAM);
    expect(answer.header('content-encoding')).toBeUndefined();
    expect(answer.text()).toBe(text);
  });

  test('the final status, never that of an interim response', async () => {
    const gateway = await startGateway();
    const body = '{"ok":true}';
    gateway.upstream.queue(
      raw(
        `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      ),
      status(500),
    );
    const answer = await gateway.post(PLAIN);
    expect([answer.status, answer.text(), answer.header('link')]).toEqual([200, body, undefined]);
  });
});
