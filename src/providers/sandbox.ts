import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../clock.ts';
import { GwError, messageOf, notFound } from '../errors.ts';
import { newId, type Random, systemRandom } from '../ids.ts';
import { type Answer, chunks, completion } from './sandbox/answer.ts';
import { findModel, modelList } from './sandbox/model.ts';
import { reply } from './sandbox/reply.ts';
import type { ChatRequest } from './sandbox/request.ts';

const MAX_BODY_BYTES = 32 * 1024 * 1024;

export interface SandboxOptions {
  clock?: Clock;
  random?: Random;
  /** Delay before each word of a stream. */
  wordDelayMs?: number;
}

export interface Sandbox {
  /** Base URL of the OpenAI-compatible API, ending in `/v1`. */
  url: string;
  /** The required bearer token. */
  secret: string;
  close(): Promise<void>;
}

/**
 * Starts the built-in provider of the `sandbox/*` models: an OpenAI-compatible server on this machine, without a model
 * or network access. Its answers depend only on the messages.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = { clock: systemClock, random: systemRandom, wordDelayMs: 15, ...options };
  const secret = settings.random(32).toString('base64url');

  const server = createServer(async (request, response) => {
    response.setHeader('x-request-id', newId('req', settings.random));
    try {
      authenticate(request, secret);
      await route(request, response, settings);
    } catch (error) {
      refuse(response, error);
    }
  });
  // Idle connections stay open, because closing one would race with gw's next request on it.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const { port } = server.address() as AddressInfo; // A listening TCP server has an AddressInfo.
  return {
    url: `http://127.0.0.1:${port}/v1`,
    secret,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

// The request parsers are loaded on first use: zod and the schemas take 8 MB, and most daemons never need them.
async function route(request: IncomingMessage, response: ServerResponse, settings: Settings): Promise<void> {
  const target = `${request.method} ${request.url?.split('?')[0]}`;
  switch (target) {
    case 'GET /v1/models':
      return deliverJson(modelList(), { response, cuts: false });
    case 'POST /v1/chat/completions':
      return chat(request, response, settings);
    case 'POST /v1/completions':
      return completeText(request, response, settings);
    case 'POST /v1/embeddings': {
      const { embed } = await import('./sandbox/embeddings.ts');
      return deliverJson(embed(await receiveBody(request, MAX_BODY_BYTES)), { response, cuts: false });
    }
    default:
      throw notFound(`The sandbox has no ${target}.`, 'not_found');
  }
}

type Settings = Required<SandboxOptions>;

async function chat(incoming: IncomingMessage, response: ServerResponse, settings: Settings): Promise<void> {
  const { parseChatRequest } = await import('./sandbox/request.ts');
  const request = parseChatRequest(await receiveBody(incoming, MAX_BODY_BYTES));
  const answer = answerTo(request, settings);
  const forms = { whole: () => completion(answer), chunks: () => chunks(answer) };
  return deliver([answer], forms, response, settings);
}

async function completeText(
  incoming: IncomingMessage,
  response: ServerResponse,
  settings: Settings,
): Promise<void> {
  const { parseCompletionRequest, textChunks, textCompletion } = await import('./sandbox/completions.ts');
  const requests = parseCompletionRequest(await receiveBody(incoming, MAX_BODY_BYTES));
  const answers = requests.map((request) => answerTo(request, settings));
  const forms = { whole: () => textCompletion(answers), chunks: () => textChunks(answers) };
  return deliver(answers, forms, response, settings);
}

function answerTo(request: ChatRequest, { clock, random }: Settings): Answer {
  const model = findModel(request.model);
  if (model.error) throw model.error();
  return { request, choices: reply(request, model), timeMs: clock.now(), random };
}

/** `forms` are the answer as one body and as a stream. */
async function deliver(
  answers: readonly Answer[],
  forms: { whole(): object; chunks(): Iterable<object> },
  response: ServerResponse,
  { clock, wordDelayMs }: Settings,
): Promise<void> {
  const request = answers[0]?.request;
  const model = findModel(request?.model ?? '');
  const choiceCount = answers.reduce((sum, { choices }) => sum + choices.length, 0);
  const delayMs = (wordDelayMs * model.slowness) / choiceCount;
  const pause = async () => {
    if (delayMs > 0) await new Promise<void>((resolve) => void clock.after(delayMs, resolve));
    if (response.destroyed) throw new Error('the client has gone');
  };
  const delivery = { response, pause, cuts: model.cuts ?? false };

  if (request?.stream) return deliverStream(forms.chunks(), delivery);
  if (model.slowness > 1) for (const _ of forms.chunks()) await pause();
  return deliverJson(forms.whole(), delivery);
}

/** Sends an error in OpenAI's format. Drops the connection if the response has started. */
function refuse(response: ServerResponse, thrown: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const error =
    thrown instanceof GwError
      ? thrown
      : new GwError(`The sandbox failed: ${messageOf(thrown)}`, {
          status: 500,
          type: 'api_error',
          code: 'server_error',
        });
  const { status, type, message, param, code, headers } = error;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type, param, code } }));
}

interface Delivery {
  response: ServerResponse;
  /** Waits for the model's delay per word. Throws if the client has disconnected. */
  pause: () => Promise<void>;
  /** Drops the connection in the middle of the body. */
  cuts: boolean;
}

async function deliverJson(body: object, { response, cuts }: Omit<Delivery, 'pause'>): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  await write(response, cuts ? bytes.subarray(0, bytes.length / 2) : bytes);
  if (cuts) response.destroy();
  else response.end();
}

/** Sends chunks as server-sent events. Each chunk waits for its pause and for the previous write. */
async function deliverStream(chunks: Iterable<object>, { response, pause, cuts }: Delivery): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
  for (const chunk of cuts ? firstHalf(chunks) : chunks) {
    await pause();
    await write(response, `data: ${JSON.stringify(chunk)}\n\n`);
  }
  if (cuts) response.destroy();
  else response.end('data: [DONE]\n\n');
}

function firstHalf(chunks: Iterable<object>): object[] {
  const all = [...chunks];
  return all.slice(0, Math.ceil(all.length / 2));
}

/** Resolves when the kernel has accepted the bytes, so that a slow reader slows down the answer. */
function write(response: ServerResponse, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/** Throws 401 unless the bearer token is the secret. */
function authenticate(request: IncomingMessage, secret: string): void {
  const expected = digest(`Bearer ${secret}`);
  if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) return;
  throw new GwError('The sandbox answers gw alone, by a secret that is new at each start.', {
    status: 401,
    type: 'authentication_error',
    code: 'invalid_api_key',
  });
}

// Digests have equal lengths, as timingSafeEqual requires.
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Reads the request's body. Reads an oversized body to its end, so that the client receives the 413. */
async function receiveBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts.length = 0;
  }
  if (length <= maxBytes) return Buffer.concat(parts);
  throw new GwError(`The body has ${length} bytes; the sandbox takes ${maxBytes}.`, {
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
  });
}
