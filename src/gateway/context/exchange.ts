import type { IncomingMessage, ServerResponse } from 'node:http';
import { orElse } from '../../errors.ts';
import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { ClientTrace, RecordedNeed } from '../../store/ledger/record.ts';
import { type RequestTarget, requestTarget } from './request-target.ts';

/** Rewrites answers for a client that wants them in another form. */
export interface Envelope {
  /** Content type of a stream. */
  streamType: string;
  events(bytes: Buffer): Buffer;
  /** What comes after the last event. */
  end?(): Buffer;
  /** A whole answer or an error. */
  whole(body: Buffer, status: number): Buffer;
}

/** A client's HTTP request and response. */
export interface Exchange {
  id: RequestId;
  request: IncomingMessage;
  response: ServerResponse;
  target: RequestTarget;
  /** Monotonic milliseconds. */
  startedAt: number;
  /** The client's span; undefined without telemetry. */
  trace: ClientTrace | undefined;
  /** When stages ended, monotonic milliseconds; undefined where the request didn't reach them. */
  bodyAt: number | undefined;
  compressedAt: number | undefined;
  heldAt: number | undefined;
  /** When the last attempt was sent. */
  sentAt: number | undefined;
  /** Need of a request that waited for room and was refused, or whose client left. */
  need: RecordedNeed | undefined;
  /** Amount that the owner has approved for the request beyond the caps of budgets that ask. */
  allowed: NanoUsd | undefined;
  /** The client hung up before the response ended. */
  gone: boolean;
  /** The request's record is written; an error from here on must not write another. */
  recorded: boolean;
  /** Rewrites the answer for a client of a cloud, or one that wants a list of events; undefined for all others. */
  envelope: Envelope | undefined;
  /** The running call of a provider, which is told when the client hangs up. */
  listener: GoneListener | undefined;
  /** Takes a copy of what the client is sent; undefined if none is to be kept. */
  sent: SentAnswer | undefined;
}

export interface SentAnswer {
  head(status: number, headers: readonly string[]): void;
  add(bytes: Buffer): void;
  end(): void;
}

export interface GoneListener {
  clientGone(): void;
}

export function openExchange(
  id: RequestId,
  request: IncomingMessage,
  response: ServerResponse,
  startedAt: number,
): Exchange {
  const exchange: Exchange = {
    id,
    request,
    response,
    target: requestTarget(withoutKey(request)),
    startedAt,
    trace: undefined,
    bodyAt: undefined,
    compressedAt: undefined,
    heldAt: undefined,
    sentAt: undefined,
    need: undefined,
    allowed: undefined,
    gone: false,
    recorded: false,
    envelope: undefined,
    listener: undefined,
    sent: undefined,
  };
  response.on('close', () => {
    if (response.writableFinished) return;
    exchange.gone = true;
    exchange.listener?.clientGone();
  });
  return exchange;
}

const GEMINI = /^[^?]*\/(?:v1beta\/|models\/[^?]*:)/;
const KEY = /([?&])key=([^&#]*)&?/;

/** The address. Clients of Google may write their key into it, where logs and records would show it. */
function withoutKey(request: IncomingMessage): string {
  const { url = '/', headers } = request;
  const isGemini = url.includes('key=') && GEMINI.test(url);
  const [, before = '', key = ''] = isGemini ? (KEY.exec(url) ?? []) : [];
  if (before === '') return url;
  headers['x-goog-api-key'] ??= orElse(() => decodeURIComponent(key), key);
  request.url = url.replace(KEY, before).replace(/[?&]$/, '');
  return request.url;
}

/** The client's own time limit for an answer, from a header of the SDKs of OpenAI and Anthropic. */
export function clientLimitMs({ request }: Pick<Exchange, 'request'>): number {
  const seconds = Number(request.headers['x-stainless-timeout']);
  return seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
}

/** The client has hung up, so there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
