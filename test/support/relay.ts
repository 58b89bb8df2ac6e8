import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { RelayOptions } from '../../src/gateway/answer/answer-receiver.ts';
import { Relay } from '../../src/gateway/answer/relay.ts';
import { type Exchange, openExchange } from '../../src/gateway/context/exchange.ts';
import { NO_DIALECT } from '../../src/providers/dialects/dialects.ts';
import { createRedactor } from '../../src/redact.ts';
import { createItemMemories } from '../../src/translation/carry/item-memory.ts';
import { translateAnswers, wireOf } from '../../src/translation/translate.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { openConnection, requestBytes } from './client.ts';
import { deferred } from './deferred.ts';

export const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** A request that a client has sent on a real connection. */
async function receive() {
  const inbound = deferred<Exchange>();
  const server = createServer((request, response) => inbound.resolve(openExchange(1, request, response, 0)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const connection = await openConnection(url);
  onTestFinished(() => {
    connection.hangUp();
    server.closeAllConnections();
    server.close();
  });
  await connection.send(requestBytes(url, { body: {} }));
  return { exchange: await inbound.promise, connection };
}

/** A relay to a real client; `calls` are what its observer was told. */
export async function startRelay(options: Partial<RelayOptions> = {}) {
  const { exchange, connection } = await receive();
  const calls: string[] = [];
  const sizes: number[] = [];
  const resumed = deferred<void>();
  let resumes = 0;
  const relay = new Relay(
    {
      exchange,
      wire: chatWire,
      hideUsage: false,
      clientIdleMs: 60_000,
      credential: createRedactor([]),
      redact: (text) => text,
      holdsBack: false,
      mayStop: false,
      ownHeaders: () => ['x-service-model', 'm'],
      now: () => 0,
      after: () => () => {},
      ...options,
    },
    {
      onContent: () => void calls.push('content'),
      onEvents: (bytes) => void sizes.push(bytes),
      onToolResults: () => undefined,
      onClosed: () => void calls.push('closed'),
      onClosedEarly: () => void calls.push('closed early'),
      onSurplus: () => void calls.push('surplus'),
      onTooLong: () => void calls.push('too long'),
    },
  );
  return {
    relay,
    connection,
    response: exchange.response,
    calls,
    sizes,
    /** Resolves when the relay asks the provider to go on. */
    resumed: resumed.promise,
    resumes: () => resumes,
    head(headers: Record<string, string>, status = 200) {
      const raw = Object.entries(headers).flat();
      const resume = () => {
        resumes++;
        resumed.resolve();
      };
      relay.head(
        status,
        raw.map((text) => Buffer.from(text)),
        resume,
      );
    },
  };
}

/** A relay of a stream whose first events have come. */
export async function startStream(options: Partial<RelayOptions> = {}, ...events: Buffer[]) {
  const started = await startRelay(options);
  started.head(EVENT_STREAM);
  for (const each of events) expect(started.relay.data(each)).toBe(true);
  return started;
}

/** Options of a relay whose client speaks messages and whose provider speaks chat completions. */
export function translation(): Pick<RelayOptions, 'wire' | 'translator'> {
  const route = { from: 'messages', to: 'chat/completions' } as const;
  const translator = translateAnswers(route, {
    provider: 'mock',
    model: 'm',
    wantsUsage: true,
    now: Date.now,
    request: {},
    names: [],
    callIds: [],
    dialect: NO_DIALECT,
    newId: (prefix) => `${prefix}1`,
    memory: createItemMemories()(1),
  });
  return { wire: wireOf(route.to, route.from), translator };
}
