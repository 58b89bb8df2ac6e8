import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { GwError, messageOf } from '../errors.ts';
import { formatRequestId, type RequestId } from '../ids.ts';
import { awsError } from '../wire/answer/aws-error.ts';
import { anthropicErrorBody, speaksAnthropic } from './anthropic-error.ts';
import { googleErrorBody, speaksGoogle } from './google-error.ts';

/** Responds with JSON. Does nothing if the client is gone. */
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
  /** Called with each error that is a fault of gw. */
  onInternalError: (error: unknown) => void;
  /** Rewrites the commands in a message to the name by which gw was run. */
  pasteable: (text: string) => string;
}

/** The one place where an error becomes a response. A response that has begun is cut off. */
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
  const fault = error instanceof GwError ? error : internalError(error, id);
  const body = bodyOf(fault, response.req, id);
  body.error.message = pasteable(fault.message);
  if (body.message !== undefined) body.message = body.error.message;
  if ('command' in fault.fields) Object.assign(body.error, { command: pasteable(`${fault.fields.command}`) });
  respondJson(response, fault.status, body, { id, headers: asciiHeaders(fault.headers) });
}

interface ErrorBody {
  error: { message: string };
  /** Where AWS's clients read it. */
  message?: string;
}

/** The error in the shape of the client's API. */
function bodyOf(fault: GwError, request: IncomingMessage, id: RequestId): ErrorBody {
  if (speaksGoogle(request)) return googleErrorBody(fault);
  if (request.url?.startsWith('/model/'))
    return { ...anthropicErrorBody(fault, id), ...awsError(fault.message, fault.status) };
  return speaksAnthropic(request) ? anthropicErrorBody(fault, id) : errorBody(fault);
}

const UNREADABLE_STATUS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers bytes that are not an HTTP request, or cuts off a response that has begun, and ends the connection. */
export function respondUnreadable(socket: Duplex, cause: NodeJS.ErrnoException, id: RequestId): void {
  // As in Node's own handler: the response in progress on the connection, if any.
  const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse };
  if (!socket.writable || current?.headersSent || cause.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = UNREADABLE_STATUS[cause.code ?? ''] ?? 400;
  const error = new GwError(`could not parse the request as HTTP/1.1 (${cause.code ?? cause.message})`, {
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
    `internal error: ${messageOf(error)}. For details, look for ${formatRequestId(id)} in: gw logs`,
    {
      status: 500,
      type: 'api_error',
      code: 'internal_error',
      cause: error,
    },
  );
}

/** Header values can contain names that users chose; only printable ASCII is allowed. */
function asciiHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\x20-\x7e]/g, '?')]),
  );
}
