import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestId } from '../../ids.ts';

/** One request of a client, its answer, and whether anybody still waits for it. */
export interface Exchange {
  id: RequestId;
  request: IncomingMessage;
  response: ServerResponse;
  /** Monotonic milliseconds. */
  startedAt: number;
  /** The client hung up before its answer ended. */
  gone: boolean;
  /** Its record is written, whatever goes wrong from here on. */
  recorded: boolean;
  /** Called once when the client hangs up. */
  onGone: (() => void) | undefined;
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
    onGone: undefined,
  };
  response.on('close', () => {
    if (response.writableFinished) return;
    exchange.gone = true;
    exchange.onGone?.();
  });
  return exchange;
}
