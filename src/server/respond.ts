import type { ServerResponse } from 'node:http';
import { GwError, messageOf } from '../errors.ts';
import { formatRequestId, type RequestId } from '../ids.ts';

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

/** The one place where an error becomes an answer. An answer that has begun is broken off. */
export function respondError(
  response: ServerResponse,
  error: unknown,
  id: RequestId,
  onInternalError: (error: unknown) => void,
): void {
  if (!(error instanceof GwError)) onInternalError(error);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known = error instanceof GwError ? error : internalError(error, id);
  respondJson(response, known.status, errorBody(known), { id, headers: asciiHeaders(known.headers) });
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
