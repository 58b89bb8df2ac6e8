import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Plan, planOf } from '../fuzz/plans.ts';
import { startDroppingPath } from '../support/dropping-path.ts';

/** The header that tells the provider the number of a case; gw passes it on. */
export const CASE_HEADER = 'x-client-request-id';

export const PROVIDERS = ['openai', 'anthropic', 'mock'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** What the provider does with a request. `deaf` takes it and never answers. */
export type Manner = 'answers' | 'breaks off' | 'resets' | 'deaf' | 500 | 503 | 429;

/** A call as the provider bills it. */
export interface Bill {
  case: number;
  provider: ProviderName;
  input: number;
  output: number;
  nanoUsd: number;
}

/** Nano-USD a token. */
export interface Price {
  input: number;
  output: number;
}

/** Three providers behind a path that can drop, with books that gw has no part in. */
export interface Provider {
  urls: Readonly<Record<ProviderName, string>>;
  bills: Bill[];
  /** Changed by the steps of the month. */
  prices: Record<ProviderName, Price>;
  /** What it does with a case; it answers others. */
  manners: Map<number, { manner: Manner; output: number }>;
  /** Providers that are out of order: what they answer instead. */
  outages: Partial<Record<ProviderName, Manner>>;
  /** Requests are those of a daemon that is dead: nothing comes of them. */
  isDeaf: boolean;
  dropConnections(): void;
  readonly connections: number;
  close(): Promise<void>;
}

/** Tokens that a request without a limit gets at most. */
const DEFAULT_OUTPUT = 2_000;

export async function startProvider(whenDone: (undo: () => void) => void): Promise<Provider> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => response.destroy());
    response.on('error', () => undefined);
    request.on('end', () => answer(request, response, Buffer.concat(chunks)));
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const path = await startDroppingPath((server.address() as AddressInfo).port, whenDone);
  const origin = path.url.replace(/\/v1$/, '');

  const provider: Provider = {
    urls: Object.fromEntries(PROVIDERS.map((name) => [name, `${origin}/${name}/v1`])) as Provider['urls'],
    bills: [],
    prices: Object.fromEntries(
      PROVIDERS.map((name) => [name, { input: 1_000, output: 4_000 }]),
    ) as Provider['prices'],
    manners: new Map(),
    outages: {},
    isDeaf: false,
    dropConnections: () => path.drop(),
    get connections() {
      return path.open;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const [, name = '', path = ''] = /^\/(\w+)\/v1(\/[^?]*)/.exec(request.url ?? '') ?? [];
    const by = PROVIDERS.find((each) => each === name) ?? 'mock';
    const number = Number(request.headers[CASE_HEADER]);
    const { manner, output } = provider.manners.get(number) ?? { manner: 'answers', output: 100 };
    const now = provider.outages[by] ?? manner;
    if (provider.isDeaf) response.destroy();
    else if (path === '/models')
      send(response, 200, { object: 'list', data: [{ id: 'm', object: 'model' }] });
    else if (/tokens$/.test(path)) send(response, 404, { error: { message: 'no such endpoint' } });
    else if (typeof now === 'number') refuse(response, now);
    else {
      const { stream, ...limits } = JSON.parse(body.toString()) as Record<string, unknown>;
      const limit = limits.max_completion_tokens ?? limits.max_tokens ?? limits.max_output_tokens;
      const used = {
        input: Math.ceil(body.length / 4),
        output: Math.min(output, Number(limit ?? DEFAULT_OUTPUT)),
      };
      const price = provider.prices[by];
      // It generates from here on, and bills all of it, whoever still listens.
      const nanoUsd = used.input * price.input + used.output * price.output;
      provider.bills.push({ case: number, provider: by, ...used, nanoUsd });
      if (now === 'resets') response.socket?.resetAndDestroy();
      else if (now !== 'deaf') generate(response, planOf(path, stream === true, used), now === 'breaks off');
    }
  }
  return provider;
}

function generate(response: ServerResponse, { events, isStream }: Plan, breaksOff: boolean): void {
  const end = () => (breaksOff ? response.destroy() : response.end());
  if (!isStream) {
    const text = JSON.stringify(events[0]);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(breaksOff ? text.slice(0, 20) : text, end);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const sent = breaksOff ? events.slice(0, Math.ceil(events.length / 2)) : events;
  const text = sent.map((event) => {
    const type = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
    return `${type}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;
  });
  response.write(text.join(''), end);
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number): void {
  if (status === 429) response.setHeader('retry-after', '2');
  send(response, status, { error: { message: 'not now', type: 'server_error' } });
}
