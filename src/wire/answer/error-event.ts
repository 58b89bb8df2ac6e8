import { namedEvents } from './events.ts';

/** The error that ends a client's stream. */
export interface StreamFault {
  message: string;
  code: string;
}

/** An error event in the format of an endpoint's API. */
export function errorEvent(endpoint: string, { message, code }: StreamFault): Buffer {
  if (endpoint === 'messages') return namedEvents([{ type: 'error', error: { type: 'api_error', message } }]);
  if (endpoint.startsWith('responses')) {
    // Clients require a sequence number but don't check it.
    return namedEvents([{ type: 'error', sequence_number: 0, code, message, param: null }]);
  }
  return Buffer.from(
    `data: ${JSON.stringify({ error: { message, type: 'api_error', param: null, code } })}\n\n`,
  );
}
