import { describe, expect, test } from 'vitest';
import { chunkBody } from '../../support/chat-shapes.ts';
import type { startGateway } from '../../support/gateway.ts';
import { json, type Script } from '../../support/scripts.ts';
import { startBothWires } from './anthropic-gateway.ts';
import type { AskOptions, Client } from './clients.ts';
import { directAndThroughGw } from './direct-and-through-gw.ts';
import { eventText } from './event-scripts.ts';
import { messageStream, text } from './messages-shapes.ts';
import { provider } from './provider-script.ts';
import { completedEvents } from './responses-shapes.ts';

/** The tests that every client library has to pass. */
export function describeClient(client: Client): void {
  describe(client.name, { timeout: 30_000 }, () => {
    const { structured } = client;

    test('receives the same answers and streams through gw as from the provider', async () => {
      const { result } = await directAndThroughGw(async (endpoint) => {
        const pieces: string[] = [];
        for await (const piece of client.stream(endpoint, 'Hi')) if (piece !== '') pieces.push(piece);
        return { answer: await client.ask(endpoint, 'Hi'), pieces };
      });
      expect(result).toEqual({ answer: 'Hello you 👋', pieces: ['Hello', ' you', ' 👋'] });
    });

    test('sends a prompt of 1 MB with many scripts', async () => {
      const prompt = '🦊 Ünïcødé "quoted" \\ \u0000 中文 עברית \r\n'.repeat(20_000);
      const { result } = await directAndThroughGw((endpoint) => client.ask(endpoint, prompt));
      expect(result).toBe('Hello you 👋');
    });

    test.skipIf(!structured)('receives structured output', async () => {
      const { result } = await directAndThroughGw(async (endpoint) => structured?.(endpoint, 'Where?'));
      expect(result).toEqual({ city: 'Bonn 👋' });
    });

    test('handles fifty concurrent requests', async () => {
      const gateway = await startReady(provider);
      const answers = Array.from({ length: 50 }, (_, i) => client.ask(gateway.endpoint, `Hi ${i}`));
      expect(new Set(await Promise.all(answers))).toEqual(new Set(['Hello you 👋']));
      expect(await gateway.settled(50)).toHaveLength(50);
    });

    test('receives the same errors through gw as from the provider', async () => {
      const gateway = await startReady(provider);
      for (const code of [400, 401, 403, 404, 409, 422, 429, 500]) {
        gateway.upstream.script(refuse(code));
        const before = gateway.upstream.requests.length;
        const direct = await failure(client.ask(gateway.direct, 'Hi'));
        const directCount = gateway.upstream.requests.length - before;
        expect(await failure(client.ask(gateway.endpoint, 'Hi'))).toEqual(direct);
        expect(gateway.upstream.requests.length - before).toBe(2 * directCount);
      }
    });

    test('retries as often as it does at the provider', async () => {
      const gateway = await startReady(provider);
      for (const endpoint of [gateway.direct, gateway.endpoint]) {
        gateway.upstream.queue(refuse(503));
        expect(await client.ask(endpoint, 'Hi', { maxRetries: 2 })).toBe('Hello you 👋');
      }
      expect(gateway.upstream.requests).toHaveLength(4);
      expect((await gateway.settled(2)).map(({ outcome }) => outcome)).toEqual(['upstream_error', 'ok']);
    });

    test('its own timeout closes the upstream call', async () => {
      const gateway = await startReady((exchange) => exchange.untilGone());
      const options: AskOptions = { timeoutMs: 300 };
      const direct = await failure(client.ask(gateway.direct, 'Hi', options));
      expect(await failure(client.ask(gateway.endpoint, 'Hi', options))).toEqual(direct);
      await Promise.all(gateway.upstream.requests.map(({ done }) => done));
      expect((await gateway.settled(1))[0]).toMatchObject({ outcome: 'client_gone' });
    });

    test.skipIf(client.isPatient)('an abort closes the upstream call at once', async () => {
      const gateway = await startReady(beginAndWait);
      const controller = new AbortController();
      let abortedAt = Number.POSITIVE_INFINITY;
      const reading = (async () => {
        for await (const piece of client.stream(gateway.endpoint, 'Hi', { signal: controller.signal })) {
          if (piece === '') continue;
          abortedAt = performance.now();
          controller.abort();
          break;
        }
      })().catch(() => {});
      const request = await gateway.upstream.nextRequest();
      await request.done;
      await reading;
      expect((request.hungUp?.monotonicMs ?? Number.POSITIVE_INFINITY) - abortedAt).toBeLessThan(10_000);
    });

    test('does not retry when the budget is exhausted, and the message says what to do', async () => {
      const gateway = await startReady(provider, { budget: { capUsd: 0, period: 'daily' } });
      const error = await client
        .ask(gateway.endpoint, 'Hi', { maxRetries: 2 })
        .catch((thrown: unknown) => thrown);
      expect(String((error as Error).message)).toContain('gw budget set');
      expect(await gateway.records()).toMatchObject([{ outcome: 'blocked', status: 402 }]);
    });
  });
}

async function startReady(script: Script, options: Parameters<typeof startGateway>[0] = {}) {
  const gateway = await startBothWires(options);
  gateway.upstream.script(script);
  gateway.configure({
    aliases: { 'test-model': 'mock/test-model' },
    providers: { anthropic: { baseUrl: gateway.upstream.url } },
  });
  return {
    ...gateway,
    endpoint: { baseURL: gateway.url, apiKey: gateway.key },
    direct: { baseURL: gateway.upstream.url, apiKey: 'sk-direct' },
  };
}

/** An error in the format of the requested API, with an immediate retry-after. */
function refuse(code: number): Script {
  return async (exchange) => {
    const error = { message: `No: ${code}`, type: 'some_error', param: null, code: `code_${code}` };
    const isMessages = exchange.request.path.startsWith('/v1/messages');
    const body = isMessages
      ? { type: 'error', error: { type: 'some_error', message: `No: ${code}` } }
      : { error };
    await json(code, body, { 'retry-after-ms': '1', 'x-request-id': 'req_up', 'request-id': 'req_up' })(
      exchange,
    );
  };
}

/** The fields of a client's error. */
async function failure(answer: Promise<unknown>): Promise<object> {
  const error = await answer.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  );
  const { name, message, status, statusCode, code, type } = error as Record<string, unknown>;
  return { name, message, status, statusCode, code, type };
}

/** Sends a first word in any API and then waits. */
const beginAndWait: Script = async (exchange) => {
  await exchange.body;
  await exchange.start(200, { 'content-type': 'text/event-stream' });
  const { path } = exchange.request;
  const list = path.startsWith('/v1/messages')
    ? messageStream([text('Hello')]).slice(0, 4)
    : path.startsWith('/v1/responses')
      ? completedEvents(['Hello']).slice(0, 5)
      : [['', chunkBody('test-model', { delta: { content: 'Hello' } })] as [string, object]];
  await exchange.chunk(list.map(eventText).join(''));
  await exchange.untilGone();
};
