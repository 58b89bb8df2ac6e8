import { errorBody } from './chat-shapes.ts';
import type { Exchange } from './exchange.ts';
import type { Pace } from './gate.ts';

/** Answers one request. A script that wants the request whole first awaits `exchange.body`. */
export type Script = (exchange: Exchange) => Promise<void>;

const JSON_TYPE = { 'content-type': 'application/json' };

/** An answer of known length. */
export function respond(status: number, headers: Record<string, string>, body: Buffer | string): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.send(status, headers, body);
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Script {
  return respond(status, { ...JSON_TYPE, ...headers }, JSON.stringify(body));
}

/** An error as OpenAI sends it. */
export function status(
  code: number,
  options: { retryAfter?: string; headers?: Record<string, string> } = {},
) {
  const retry = options.retryAfter === undefined ? {} : { 'retry-after': options.retryAfter };
  const type = code === 429 ? 'rate_limit_exceeded' : code < 500 ? 'invalid_request_error' : 'server_error';
  const body = errorBody(`The upstream says ${code}.`, type, code === 429 ? 'rate_limit_exceeded' : null);
  return json(code, body, { 'x-request-id': 'req_upstream', ...retry, ...options.headers });
}

/** The page that a proxy in front of a provider shows. */
export function html(code: number): Script {
  const page = `<!DOCTYPE html>\n<html><head><title>${code}</title></head><body><h1>${code}</h1></body></html>\n`;
  return respond(code, { 'content-type': 'text/html; charset=utf-8' }, page);
}

/** The request's own body, with its content type. */
export function echo(): Script {
  return async (exchange) => {
    await exchange.send(200, JSON_TYPE, await exchange.body);
  };
}

/** `GET /v1/models`. */
export function modelList(ids: string[]): Script {
  const data = ids.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'test' }));
  return json(200, { object: 'list', data });
}

/** Takes the request and never answers. */
export function hang(): Script {
  return (exchange) => exchange.untilGone();
}

/**
 * Breaks the connection off (RST), having sent the first `afterBytes` bytes of an answer, head included, and waited for
 * `pace`.
 */
export function reset(options: { afterBytes?: number; pace?: Pace } = {}): Script {
  const answer =
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{"id":"';
  return async (exchange) => {
    await exchange.body;
    const bytes = answer.padEnd(options.afterBytes ?? 0, 'x').slice(0, options.afterBytes ?? 0);
    if (bytes !== '') await exchange.write(bytes);
    await options.pace?.();
    exchange.reset();
  };
}

/** Bytes of any kind, HTTP or not, and then the connection's orderly end. */
export function raw(bytes: Buffer | string): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.write(bytes);
    exchange.close();
  };
}
