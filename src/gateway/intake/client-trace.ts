import type { IncomingHttpHeaders } from 'node:http';
import type { ClientTrace } from '../../store/ledger/record.ts';

/** W3C Trace Context requires this much of `tracestate`; more would stay in memory with each span that waits. */
const MAX_LENGTH = 512;

/** The client's span; undefined if it names none. Its form is checked when the request's own span is made. */
export function clientTrace({ traceparent, tracestate }: IncomingHttpHeaders): ClientTrace | undefined {
  if (!isShort(traceparent)) return undefined;
  return { traceparent, tracestate: isShort(tracestate) ? tracestate : '' };
}

function isShort(header: string | string[] | undefined): header is string {
  return typeof header === 'string' && header.length <= MAX_LENGTH;
}
