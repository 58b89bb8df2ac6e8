import { namedEvents } from './events.ts';

/** What a client is told where its stream breaks off. */
export interface StreamFault {
  message: string;
  code: string;
}

/** An error within a stream, as the API of an endpoint has it. */
export function errorEvent(endpoint: string, { message, code }: StreamFault): Buffer {
  if (endpoint === 'messages') return namedEvents([{ type: 'error', error: { type: 'api_error', message } }]);
  if (endpoint.startsWith('responses')) {
    // Clients want a number, and none minds which: the provider's count is not followed.
    return namedEvents([{ type: 'error', sequence_number: 0, code, message, param: null }]);
  }
  return Buffer.from(
    `data: ${JSON.stringify({ error: { message, type: 'api_error', param: null, code } })}\n\n`,
  );
}
