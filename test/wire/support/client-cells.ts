import { describe, expect, test } from 'vitest';
import { chunkBody } from '../../support/chat-shapes.ts';
import type { startGateway } from '../../support/gateway.ts';
import { json, type Script } from '../../support/scripts.ts';
import { startBothWires } from './anthropic-gateway.ts';
import { bothWays } from './both-ways.ts';
import type { AskOptions, Client } from './clients.ts';
import { eventText } from './event-scripts.ts';
import { messageStream, text } from './messages-shapes.ts';
import { provider } from './provider-script.ts';
import { completedEvents } from './responses-shapes.ts';

/** What can go wrong with any client, and what must not. */
export function describeClient(client: Client): void {
  describe(client.name, { timeout: 30_000 }, () => {
    const { structured } = client;

    test('asks and streams as it does at the provider', async () => {
      const { result } = await bothWays(async (place) => {
        const pieces: string[] = [];
        for await (const piece of client.stream(place, 'Hi')) if (piece !== '') pieces.push(piece);
        return { answer: await client.ask(place, 'Hi'), pieces };
      });
      expect(result).toEqual({ answer: 'Hello you 👋', pieces: ['Hello', ' you', ' 👋'] });
    });

    test('a prompt of 1 MB, in every script', async () => {
      const prompt = '🦊 Ünïcødé "quoted" \\ \u0000 中文 עברית \r\n'.repeat(20_000);
      const { result } = await bothWays((place) => client.ask(place, prompt));
      expect(result).toBe('Hello you 👋');
    });

    test.skipIf(!structured)('an answer of a schema', async () => {
      const { result } = await bothWays(async (place) => structured?.(place, 'Where?'));
      expect(result).toEqual({ city: 'Bonn 👋' });
    });

    test('fifty at once', async () => {
      const gateway = await startReady(provider);
      const asked = Array.from({ length: 50 }, (_, i) => client.ask(gateway.place, `Hi ${i}`));
      expect(new Set(await Promise.all(asked))).toEqual(new Set(['Hello you 👋']));
      expect(await gateway.settled(50)).toHaveLength(50);
    });

    test("the provider's errors are the same errors", async () => {
      const gateway = await startReady(provider);
      for (const code of [400, 401, 403, 404, 409, 422, 429, 500]) {
        gateway.upstream.script(refuse(code));
        const before = gateway.upstream.requests.length;
        const direct = await failure(client.ask(gateway.direct, 'Hi'));
        const asked = gateway.upstream.requests.length - before;
        expect(await failure(client.ask(gateway.place, 'Hi'))).toEqual(direct);
        expect(gateway.upstream.requests.length - before).toBe(2 * asked);
      }
    });

    test('what it tries again is tried as often', async () => {
      const gateway = await startReady(provider);
      for (const place of [gateway.direct, gateway.place]) {
        gateway.upstream.queue(refuse(503));
        expect(await client.ask(place, 'Hi', { maxRetries: 2 })).toBe('Hello you 👋');
      }
      expect(gateway.upstream.requests).toHaveLength(4);
      expect((await gateway.settled(2)).map(({ outcome }) => outcome)).toEqual(['upstream_error', 'ok']);
    });

    test('a timeout of its own is its own, and closes the upstream', async () => {
      const gateway = await startReady((exchange) => exchange.untilGone());
      const options: AskOptions = { timeoutMs: 300 };
      const direct = await failure(client.ask(gateway.direct, 'Hi', options));
      expect(await failure(client.ask(gateway.place, 'Hi', options))).toEqual(direct);
      await Promise.all(gateway.upstream.requests.map(({ done }) => done));
      expect((await gateway.settled(1))[0]).toMatchObject({ outcome: 'client_gone' });
    });

    // On a busy machine the client itself may take longer.
    test.skipIf(client.isPatient)('an abort closes the upstream within 100 ms', { retry: 3 }, async () => {
      const gateway = await startReady(beginAndWait);
      const controller = new AbortController();
      let abortedAt = Number.POSITIVE_INFINITY;
      const reading = (async () => {
        for await (const piece of client.stream(gateway.place, 'Hi', { signal: controller.signal })) {
          if (piece === '') continue;
          abortedAt = performance.now();
          controller.abort();
          break;
        }
      })().catch(() => {});
      const request = await gateway.upstream.nextRequest();
      await request.done;
      await reading;
      expect((request.hungUp?.monotonicMs ?? Number.POSITIVE_INFINITY) - abortedAt).toBeLessThan(100);
    });

    test('a used-up budget is one request, and the message says what to do', async () => {
      const gateway = await startReady(provider, { budget: { capUsd: 0, period: 'daily' } });
      const error = await client
        .ask(gateway.place, 'Hi', { maxRetries: 2 })
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
    place: { baseURL: gateway.url, apiKey: gateway.key },
    direct: { baseURL: gateway.upstream.url, apiKey: 'sk-direct' },
  };
}

/** An error of the wire that is asked, with leave to try again at once. */
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

/** What of an error a program can tell. */
async function failure(asked: Promise<unknown>): Promise<object> {
  const error = await asked.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  );
  const { name, message, status, statusCode, code, type } = error as Record<string, unknown>;
  return { name, message, status, statusCode, code, type };
}

/** A first word on any wire, and then nothing. */
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
