import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestId } from '../../ids.ts';

/** A client's HTTP request and response. */
export interface Exchange {
  id: RequestId;
  request: IncomingMessage;
  response: ServerResponse;
  /** Monotonic milliseconds. */
  startedAt: number;
  /** The client hung up before the response ended. */
  gone: boolean;
  /** The request's record is written; an error from here on must not write another. */
  recorded: boolean;
  /** The running call of a provider, which is told when the client hangs up. */
  listener: GoneListener | undefined;
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
    startedAt,
    gone: false,
    recorded: false,
    listener: undefined,
  };
  response.on('close', () => {
    if (response.writableFinished) return;
    exchange.gone = true;
    exchange.listener?.clientGone();
  });
  return exchange;
}
