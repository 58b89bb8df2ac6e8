import type { EventStreamCodec } from '@smithy/core/event-streams';
import { isObject } from '../../../json/object.ts';
import type { FrameReader } from '../cloud.ts';
import { cloudError } from '../cloud-error.ts';
import { loadPackages } from '../renewing.ts';

const FRAME_PACKAGES = '@smithy/core';

/** A frame's length is in its first four bytes: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html */
const PRELUDE_BYTES = 4;
const MAX_FRAME_BYTES = 25 * 1024 * 1024;

/**
 * Reads `application/vnd.amazon.eventstream` as events of the messages API: chunks with an event in base64, and
 * exceptions (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html).
 */
export async function openFrames(): Promise<FrameReader> {
  const codec = await openCodec();
  let pending: Buffer = Buffer.alloc(0);
  return {
    read(chunk) {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const events: string[] = [];
      let at = 0;
      while (pending.length - at >= PRELUDE_BYTES) {
        const length = pending.readUInt32BE(at);
        if (length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
        if (length < PRELUDE_BYTES || pending.length - at < length) break;
        events.push(eventOf(codec, pending.subarray(at, at + length)));
        at += length;
      }
      pending = Buffer.from(pending.subarray(at));
      return Buffer.from(events.join(''));
    },
  };
}

/** AWS's own reader and writer of frames. */
export async function openCodec(): Promise<EventStreamCodec> {
  const { EventStreamCodec } = await loadPackages(() => import('@smithy/core/event-streams'), FRAME_PACKAGES);
  return new EventStreamCodec(
    (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
    (text) => Buffer.from(text, 'utf8'),
  );
}

/** Statuses of the exceptions that a stream may contain. */
const STATUS: Readonly<Record<string, number>> = {
  internalServerException: 500,
  modelStreamErrorException: 424,
  modelTimeoutException: 408,
  serviceUnavailableException: 503,
  throttlingException: 429,
  validationException: 400,
};

function eventOf(codec: EventStreamCodec, frame: Buffer): string {
  const { headers, body } = codec.decode(frame);
  const value: unknown = JSON.parse(Buffer.from(body).toString('utf8') || '{}');
  const payload = isObject(value) ? value : {};
  const kind = headers[':message-type']?.value;
  if (kind !== 'event') {
    const name = String(headers[':exception-type']?.value ?? headers[':error-code']?.value ?? kind);
    const message = String(payload.message ?? headers[':error-message']?.value ?? name);
    return `event: error\ndata: ${cloudError('anthropic', STATUS[name] ?? 500, { message, name })}\n\n`;
  }
  const data = Buffer.from(String(payload.bytes ?? ''), 'base64').toString('utf8');
  const { type } = JSON.parse(data) as { type?: unknown };
  return `event: ${String(type)}\ndata: ${data}\n\n`;
}
