import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ProviderSettings } from '../../src/config/settings.ts';
import { admit } from '../../src/gateway/admission/admit.ts';
import type { AttemptResult, RoutedAttempt } from '../../src/gateway/attempt/attempt.ts';
import { sendAttempt } from '../../src/gateway/attempt/send-attempt.ts';
import { type Exchange, openExchange } from '../../src/gateway/context/exchange.ts';
import { bodyLimits, readBody } from '../../src/gateway/intake/read-body.ts';
import { authenticate, receive } from '../../src/gateway/intake/receive.ts';
import { route } from '../../src/gateway/routing/route.ts';
import { translateRequest } from '../../src/gateway/routing/translate.ts';
import { buildRequest } from '../../src/gateway/upstream/build-request.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { AsyncQueue } from './async-queue.ts';
import { openConnection, type RawConnection, requestBytes } from './client.ts';
import { type GatewayParts, openGatewayParts } from './gateway-parts.ts';
import type { TestBudget, TestSettings } from './home.ts';
import { NAMES } from './several-targets.ts';
import { startUpstream, type Upstream } from './upstream.ts';

export interface StagesOptions {
  /** How many upstreams there are; the alias `many` has a target at each. */
  count?: number;
  /** Dollars per million output tokens at each target; null: its price is unknown. */
  outputUsd?: (number | null)[];
  wires?: ('openai' | 'anthropic')[];
  settings?: TestSettings;
  budget?: TestBudget;
}

/** A request that a client has sent and that nothing has answered yet. */
export interface Received {
  exchange: Exchange;
  /** The client's side of it. */
  connection: RawConnection;
}

/** The parts of a gateway between real clients and scripted upstreams: a test runs the stages of a request itself. */
export interface Stages extends GatewayParts {
  upstreams: Upstream[];
  /** Sends a body with the project's key and takes the request in. */
  receive(body: unknown, headers?: Record<string, string>): Promise<Received>;
  /** Runs the stages of a chat completion up to its first attempt, which holds its worst case. */
  firstAttempt(exchange: Exchange): Promise<RoutedAttempt>;
  /** Sends an attempt's request to its target. */
  send(attempt: RoutedAttempt): Promise<AttemptResult>;
  /** What the budgets have posted and what is held of them, in nano-USD. */
  balance(): { posted: number; pending: number };
}

export async function startStages(options: StagesOptions = {}): Promise<Stages> {
  const { count = 1, outputUsd = [], wires = [] } = options;
  const names = NAMES.slice(0, count);
  const upstreams = await Promise.all(names.map(() => startUpstream()));
  const providers: Record<string, ProviderSettings> = {};
  for (const [i, name] of names.entries()) {
    providers[name] = { baseUrl: upstreams[i]?.url ?? '', wire: wires[i] ?? 'openai' };
  }
  const parts = await openGatewayParts({
    upstreamUrl: upstreams[0]?.url ?? '',
    settings: {
      attribution: 'off',
      aliases: { many: names.map((name) => `${name}/m-${name}`).join(', ') },
      ...options.settings,
      providers,
    },
    ...(options.budget ? { budget: options.budget } : {}),
  });
  const { gateway } = parts;
  for (const [i, name] of names.entries()) {
    const usd = outputUsd[i] === undefined ? 2 : outputUsd[i];
    if (usd === null) continue;
    await parts.setPrice({
      provider: name,
      model: `m-${name}`,
      inputPicoUsd: 1_000_000,
      outputPicoUsd: usd * 1_000_000,
    });
  }
  const inbound = new AsyncQueue<Exchange>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    inbound.push(openExchange(gateway.nextId(), request, response, gateway.clock.monotonic()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
  });

  return {
    ...parts,
    upstreams,
    async receive(body, headers = {}) {
      const connection = await openConnection(url);
      const authorization = `Bearer ${parts.key}`;
      await connection.send(requestBytes(url, { body, headers: { authorization, ...headers } }));
      return { exchange: await inbound.next(), connection };
    },
    async firstAttempt(exchange) {
      const sender = authenticate(gateway, exchange);
      const body = await readBody(exchange.request, bodyLimits(gateway), 'json', exchange.response);
      const context = receive(gateway, sender, chatWire, chatWire.parse(body));
      const targets = await gateway.resolver.resolve(context.request.model, chatWire.family);
      const chosen = route(gateway, context, targets);
      const { target, why } = chosen;
      const translated = await translateRequest(context, target, gateway);
      const admitted = await admit(gateway, translated, target, gateway.calendar());
      return { context: translated, target, admitted, why, route: chosen };
    },
    send: (attempt) => sendAttempt(gateway, attempt, buildRequest(gateway, attempt)),
    balance() {
      gateway.ledger.flush();
      return parts.db
        .prepare(
          'SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods',
        )
        .get() as { posted: number; pending: number };
    },
  };
}
