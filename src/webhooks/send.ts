import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Network } from '../network/network.ts';
import { createRedactor } from '../redact.ts';
import type { Attempt } from '../store/webhooks/outbox.ts';
import { type AddressPolicy, checkBehindProxy, createCheckedConnector } from './address-check.ts';

/** Time limit of an attempt, from the DNS lookup to the end of the response. */
export const SEND_TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 64 * 1024;

export interface Post {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Texts to redact from the stored response. */
  secrets: readonly string[];
  signal?: AbortSignal;
}

export interface SendResult extends Attempt {
  /** Whether the status is 2xx. */
  ok: boolean;
}

/** Makes one POST. Follows no redirects and never throws; the result holds the error. */
export type Send = (post: Post) => Promise<SendResult>;

export interface SendOptions {
  policy: () => AddressPolicy;
  network: () => Network | Promise<Network>;
  clock: Clock;
  lookup?: Parameters<typeof createCheckedConnector>[2]['lookup'];
  timeoutMs?: number;
}

export function createSend({
  policy,
  network,
  clock,
  lookup,
  timeoutMs = SEND_TIMEOUT_MS,
}: SendOptions): Send {
  return async (post) => {
    const at = clock.now();
    const started = clock.monotonic();
    const answer: Answer = { status: null, error: null, response: null };
    // The timer starts before undici is loaded, because the claim's lease is already running.
    const timer = new AbortController();
    const cancelTimer = clock.after(timeoutMs, () => timer.abort());
    const signals = post.signal ? [timer.signal, post.signal] : [timer.signal];
    try {
      await exchange(post, answer, AbortSignal.any(signals));
    } catch (error) {
      answer.error = redact(reasonOf(error), post.secrets);
      if (timer.signal.aborted) answer.error = `no complete answer within ${timeoutMs / 1000} s`;
      else if (post.signal?.aborted) answer.error = 'gw was stopped';
    } finally {
      cancelTimer();
    }
    const durationMs = Math.round(clock.monotonic() - started);
    return { ...answer, ok: isSuccess(answer.status), at, durationMs };
  };

  async function exchange(post: Post, answer: Answer, signal: AbortSignal): Promise<void> {
    // Loaded at the first attempt, so that commands that send nothing don't load an HTTP client.
    const { request } = await import('undici');
    const ways = await network();
    const url = new URL(post.url);
    if (ways.wayTo(url).proxy) await checkBehindProxy(url, policy(), lookup);
    signal.throwIfAborted();
    // Each attempt has its own connection, so that none outlives the check of its address, and destroying it aborts the
    // attempt at any stage.
    const client = ways.open(url, {
      connectTimeoutMs: timeoutMs,
      direct: (build) => createCheckedConnector(build, policy, { ...(lookup && { lookup }), timeoutMs }),
      pool: { connections: 1, headersTimeout: 0, bodyTimeout: 0 },
    });
    const destroy = () => void client.destroy().catch(() => undefined);
    signal.addEventListener('abort', destroy);
    try {
      await receive(
        await request(url, { dispatcher: client, method: 'POST', headers: post.headers, body: post.body }),
        post,
        answer,
      );
    } finally {
      signal.removeEventListener('abort', destroy);
      destroy();
    }
  }

  async function receive(
    { statusCode, headers, body }: Dispatcher.ResponseData,
    post: Post,
    answer: Answer,
  ): Promise<void> {
    answer.status = statusCode;
    if (!isSuccess(statusCode)) answer.error = `HTTP ${statusCode}${redirectNote(statusCode, headers)}`;
    const { bytes, complete } = await readStart(body);
    const encoding = textOf(headers['content-encoding']);
    answer.response = encoding
      ? `(${bytes.length} bytes, ${redact(encoding, []).slice(0, 40)})`
      : storableResponse(bytes.toString(), post.secrets, complete);
  }
}

type Answer = Pick<SendResult, 'status' | 'error' | 'response'>;

/** Reads the beginning of a body. A body that stalls or breaks off is no error: the status decides. */
async function readStart(
  body: Dispatcher.ResponseData['body'],
): Promise<{ bytes: Buffer; complete: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  let complete = false;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_RESPONSE_BYTES) break;
    }
    complete = length <= MAX_RESPONSE_BYTES;
  } catch {
    complete = false;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES), complete };
}

const isSuccess = (status: number | null) => status !== null && status >= 200 && status < 300;

function redirectNote(status: number, headers: Record<string, string | string[] | undefined>): string {
  return status >= 300 && status < 400 && headers.location !== undefined
    ? ' (redirects are not followed)'
    : '';
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** Node throws an AggregateError without a message if all addresses of a host refuse. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return messageOf(error) || String((error as { code?: unknown }).code ?? error);
}

const MASK = '[redacted]';
const MAX_STORED_BYTES = 4096;

/** Common formats of keys and tokens. */
const PATTERNS = [
  /\bwhsec_[A-Za-z0-9+/=_-]+/g,
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{8,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi,
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point; they could steer a terminal.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Removes the secrets, anything that looks like a key, and control characters from external text. */
export function redact(text: string, secrets: readonly string[]): string {
  const masked = createRedactor(secrets).redact(text);
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, MASK), masked).replace(CONTROLS, '');
}

/** The beginning of a response, redacted for storage. `complete` is false if `text` is truncated. */
export function storableResponse(text: string, secrets: readonly string[], complete: boolean): string {
  const clean = redact(text, secrets);
  // The text may end with part of a secret, which redaction misses, so the end is dropped.
  const longest = Math.max(256, ...secrets.map((secret) => 3 * secret.length));
  const safe = complete ? clean : clean.slice(0, Math.max(0, clean.length - longest));
  return cutToBytes(safe, MAX_STORED_BYTES);
}

function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A truncated character decodes to the replacement character, which is dropped.
  return bytes
    .subarray(0, limit)
    .toString()
    .replace(/\ufffd{1,3}$/, '');
}
