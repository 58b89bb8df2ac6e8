import { EventStreamCodec } from '@smithy/core/event-streams';
import type { Script } from '../../../support/scripts.ts';
import type { Event } from '../../../wire/support/event-scripts.ts';

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString(),
  (text) => Buffer.from(text),
);

/** A frame as AWS's codec writes it. */
export function frame(headers: Record<string, string>, payload: object): Buffer {
  const typed = Object.entries(headers).map(([name, value]) => [name, { type: 'string', value }]);
  return Buffer.from(
    codec.encode({ headers: Object.fromEntries(typed), body: Buffer.from(JSON.stringify(payload)) }),
  );
}

/** The frames in a body, each with its kind and its payload. */
export function readFrames(body: Buffer): [string, Record<string, unknown>][] {
  const read: [string, Record<string, unknown>][] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at);
    const { headers, body: payload } = codec.decode(body.subarray(at, at + length));
    const kind = headers[':event-type']?.value ?? headers[':exception-type']?.value;
    read.push([String(kind), JSON.parse(Buffer.from(payload).toString())]);
    at += length;
  }
  return read;
}

/** An event of the messages API in a chunk of InvokeModelWithResponseStream. */
export const chunk = ([, data]: Event): Buffer =>
  frame(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    { bytes: Buffer.from(JSON.stringify(data)).toString('base64'), p: 'abcdefgh' },
  );

export const exception = (type: string, message: string): Buffer =>
  frame(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    { message },
  );

/** A body of frames. */
export const joined = (list: readonly Buffer[]): Buffer => Buffer.concat(list);

/** A stream of frames, cut into pieces of some bytes. */
export function frames(list: Buffer[], pieceBytes: number): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    const bytes = Buffer.concat(list);
    for (let at = 0; at < bytes.length; at += pieceBytes)
      await exchange.chunk(bytes.subarray(at, at + pieceBytes));
    await exchange.finish();
  };
}
