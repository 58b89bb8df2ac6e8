import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { GwError, messageOf } from '../errors.ts';
import { formatRequestId, type RequestId } from '../ids.ts';
import { anthropicErrorBody, speaksAnthropic } from './anthropic-error.ts';

/** Answers with JSON. Does nothing when the client is gone. */
export function respondJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  { id, headers = {} }: { id: RequestId; headers?: Record<string, string> },
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-service-request-id': formatRequestId(id),
    ...headers,
  });
  response.end(text);
}

export interface ErrorOptions {
  /** Told of errors that are gw's own fault. */
  onInternalError: (error: unknown) => void;
  /** Gives the commands in a message the name that gw is run by here. */
  pasteable: (text: string) => string;
}

/** The one place where an error becomes an answer. An answer that has begun is broken off. */
export function respondError(
  response: ServerResponse,
  error: unknown,
  id: RequestId,
  { onInternalError, pasteable }: ErrorOptions,
): void {
  if (!(error instanceof GwError)) onInternalError(error);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known = error instanceof GwError ? error : internalError(error, id);
  const body = speaksAnthropic(response.req) ? anthropicErrorBody(known, id) : errorBody(known);
  body.error.message = pasteable(known.message);
  if ('command' in known.fields) Object.assign(body.error, { command: pasteable(`${known.fields.command}`) });
  respondJson(response, known.status, body, { id, headers: asciiHeaders(known.headers) });
}

const UNREADABLE_STATUS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers bytes that are no HTTP request, or cuts an answer that has begun, and ends the connection. */
export function respondUnreadable(socket: Duplex, cause: NodeJS.ErrnoException, id: RequestId): void {
  // As node's own handler looks: the answer that is under way on the connection, if any.
  const { _httpMessage: begun } = socket as { _httpMessage?: ServerResponse };
  if (!socket.writable || begun?.headersSent || cause.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = UNREADABLE_STATUS[cause.code ?? ''] ?? 400;
  const error = new GwError(`the request cannot be read as HTTP/1.1 (${cause.code ?? cause.message})`, {
    status,
    type: 'invalid_request_error',
    code: 'unreadable_request',
  });
  const body = JSON.stringify(errorBody(error));
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-service-request-id: ${formatRequestId(id)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
}

/** An error in OpenAI's shape, with all four keys. */
export function errorBody({ message, type, param, code, fields }: GwError) {
  return { error: { message, type, param, code, ...fields } };
}

function internalError(error: unknown, id: RequestId): GwError {
  return new GwError(
    `gw failed on this request (${messageOf(error)}); ${formatRequestId(id)} in gw logs has more`,
    {
      status: 500,
      type: 'api_error',
      code: 'internal_error',
      cause: error,
    },
  );
}

/** Messages can hold what people named things; a header takes only printable ASCII. */
function asciiHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\x20-\x7e]/g, '?')]),
  );
}
