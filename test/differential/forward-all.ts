import { createKey } from '../../src/store/accounts/keys.ts';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import { openConnection, type RawConnection, type RawResponse } from '../support/client.ts';
import type { RecordedRequest } from '../support/exchange.ts';
import { startGateway, type TestGateway, until } from '../support/gateway.ts';
import { headerOf } from '../support/http-message.ts';
import type { Script } from '../support/scripts.ts';
import { modelList } from '../support/scripts.ts';
import { type GeneratedRequest, generateRequest, type KeyKind } from './generated-request.ts';
import type { Forwarded, OwnReading } from './reading.ts';

/** Billed for a token of output: the cheap models' and the dear ones' price. */
export const PICO_USD: Readonly<Record<string, number>> = { cheap: 1e6, dear: 1e8 };
const PROVIDERS = ['mock', 'claude', 'openai'];
const WIDTH = 8;

export interface Round {
  seed: number;
  /** The numbers of its requests. */
  from: number;
  count: number;
  /** Without another project, or beside one. */
  alone: boolean;
  whenDone: (undo: () => Promise<void>) => void;
}

/** A request that reached a provider; without gw's reading where no record tells it. */
export interface Passed {
  forwarded: Forwarded;
  own: OwnReading | undefined;
  sent: GeneratedRequest;
}

export interface RoundResult {
  passed: Passed[];
  /** How many requests were answered with each status; 0 for none. */
  statuses: Map<number, number>;
}

/** Sends generated requests to a daemon with a budget, and tells what went on to the provider. */
export async function forwardAll({ seed, from, count, alone, whenDone }: Round): Promise<RoundResult> {
  const gateway = await startDaemon(alone, whenDone);
  const keys: Record<KeyKind, string> = { plain: gateway.key, limited: await limitedKey(gateway) };
  const sent = new Map<string, GeneratedRequest>();
  const statuses = new Map<number, number>();
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  const worker = async () => {
    const client = new Client(gateway.url);
    for (let next = numbers.shift(); next !== undefined; next = numbers.shift()) {
      const request = generateRequest({ seed, number: next, keys });
      for (const name of [`case-${next}`, `inner-${next}`]) sent.set(name, request);
      const [answer] = await client.send(request);
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  await until(() => gateway.holds() === 0);
  const records = new Map((await gateway.records()).map((record) => [record.session, record]));
  const passed = gateway.upstream.requests.map((request): Passed => {
    const name = request.head.headers.find(([key]) => key.toLowerCase() === 'x-session-id')?.[1] ?? '';
    const by = sent.get(name);
    if (!by) throw new Error(`nobody sent ${request.head.raw}`);
    return { forwarded: forwardedOf(name, request), own: ownReading(records.get(name), by), sent: by };
  });
  return { passed, statuses };
}

async function startDaemon(alone: boolean, whenDone: Round['whenDone']): Promise<TestGateway> {
  const gateway = await startGateway({
    alone,
    budget: { period: 'daily', capUsd: 1_000_000 },
    credentials: Object.fromEntries(PROVIDERS.map((name) => [name, 'provider-key'])),
    whenDone,
    mayLog: /./,
  });
  const baseUrl = gateway.upstream.url;
  gateway.configure({
    attribution: 'off',
    'passthrough.unmetered': 'allow',
    providers: { mock: { baseUrl }, openai: { baseUrl }, claude: { baseUrl, wire: 'anthropic' } },
  });
  for (const provider of PROVIDERS)
    for (const [model, outputPicoUsd] of Object.entries(PICO_USD))
      await gateway.setPrice({ provider, model, inputPicoUsd: 0, outputPicoUsd });
  gateway.upstream.models(modelList(Object.keys(PICO_USD)));
  gateway.upstream.script(generousAnswer);
  return gateway;
}

async function limitedKey({ db, project }: TestGateway): Promise<string> {
  return (await createKey(db, { projectId: project.id, now: Date.now(), models: ['cheap'] })).key;
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1 };
const TEXT = [{ type: 'text', text: 'x' }];
const ANSWER = JSON.stringify({
  ...{ id: 'x', type: 'message', role: 'assistant', content: TEXT, stop_reason: 'end_turn' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, text: 'x', finish_reason: 'stop' }],
  ...{ status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 'x' }] }] },
  ...{ data: [{ index: 0, embedding: [0] }], usage: USAGE },
});
const FREE_ANSWER = JSON.stringify({ id: 'x', data: [] });
const CHUNK = {
  id: 'x',
  choices: [{ index: 0, delta: { content: 'x' }, text: 'x', finish_reason: 'stop' }],
  usage: USAGE,
};
const EVENTS: readonly [RegExp, string][] = [
  [
    /\/messages/,
    [
      { type: 'message_start', message: { id: 'x', usage: USAGE } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE },
      { type: 'message_stop' },
    ]
      .map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`)
      .join(''),
  ],
  [
    /\/responses/,
    `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: { id: 'x', output: [], usage: USAGE } })}\n\n`,
  ],
  [/./, `data: ${JSON.stringify(CHUNK)}\n\ndata: [DONE]\n\n`],
];

/** An answer of every API at once, as a stream where the body wants one. What is free reports no usage. */
const generousAnswer: Script = async (exchange) => {
  const body = await exchange.body;
  const { path } = exchange.request;
  const events =
    /"stream"\s*:\s*true/.test(body.toString('latin1')) && EVENTS.find(([at]) => at.test(path))?.[1];
  const isBilled = /\/(?:completions|embeddings|responses|messages|compact)(?:\?|$)/.test(path);
  const type = events ? 'text/event-stream' : 'application/json';
  await exchange.send(200, { 'content-type': type }, events || (isBilled ? ANSWER : FREE_ANSWER));
};

function forwardedOf(name: string, { method, path, head, body }: RecordedRequest): Forwarded {
  const framing = headerOf(head, 'transfer-encoding');
  if (framing !== undefined) throw new Error(`gw sent ${name} in chunks`);
  const type = headerOf(head, 'content-type') ?? '';
  return { name, method, target: path, type, body, bytes: Buffer.concat([head.raw, body]) };
}

function ownReading(record: LoggedRequest | undefined, { key }: GeneratedRequest): OwnReading | undefined {
  if (!record) return undefined;
  const { endpoint, provider, model, flags, holdNanoUsd } = record;
  return {
    endpoint,
    provider,
    model,
    holdNanoUsd,
    stream: flags.includes('stream'),
    isLimited: key === 'limited',
  };
}

const LAST = Buffer.from('GET /api/hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');

/** Sends plain requests on one connection, and each odd one on a connection of its own. */
class Client {
  readonly #url: string;
  #connection: RawConnection | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async send({ bytes, isOdd }: GeneratedRequest): Promise<RawResponse[]> {
    if (isOdd) return this.#alone(bytes);
    this.#connection ??= await openConnection(this.#url);
    await this.#connection.send(bytes);
    const answer = await this.#connection.response();
    if (answer.header('connection') === 'close' || !answer.complete) this.close();
    return [answer];
  }

  close(): void {
    this.#connection?.hangUp();
    this.#connection = undefined;
  }

  /** All answers, until gw closes the connection after that to a last request. */
  async #alone(bytes: Buffer): Promise<RawResponse[]> {
    const connection = await openConnection(this.#url);
    const answers: RawResponse[] = [];
    await connection.send(Buffer.concat([bytes, LAST])).catch(() => {});
    try {
      for (;;) answers.push(await connection.response());
    } catch {
      connection.hangUp();
      return answers;
    }
  }
}
