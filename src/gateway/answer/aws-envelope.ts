import { isObject } from '../../json/object.ts';
import { openCodec } from '../../providers/clouds/bedrock/frames.ts';
import { createEventFramer } from '../../sse/frame.ts';
import {
  type AwsEvent,
  ConverseEvents,
  converseAnswer,
} from '../../translation/apis/converse/write-answer.ts';
import { awsError } from '../../wire/answer/aws-error.ts';
import { dataIn, parseObject } from '../../wire/answer/events.ts';
import type { Envelope } from '../context/exchange.ts';

/** How an operation of Bedrock writes answers. */
interface AwsWriter {
  whole(body: Buffer): Buffer;
  events(data: string): AwsEvent[];
}

/** InvokeModel has the messages API's answers, a stream's events in base64. */
export const invokeWriter: AwsWriter = {
  whole: (body) => body,
  events: (data) => [{ type: 'chunk', payload: { bytes: Buffer.from(data).toString('base64') } }],
};

export function createConverseWriter(latencyMs: () => number): AwsWriter {
  const events = new ConverseEvents(latencyMs);
  return {
    whole(body) {
      const message = parseObject(body.toString('utf8'));
      return message ? Buffer.from(JSON.stringify(converseAnswer(message, latencyMs()))) : body;
    },
    events: (data) => {
      const event = parseObject(data);
      return event ? events.of(event) : [];
    },
  };
}

/** CountTokens: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html */
export const countWriter: AwsWriter = {
  whole: (body) =>
    Buffer.from(JSON.stringify({ inputTokens: parseObject(body.toString('utf8'))?.input_tokens })),
  events: () => [],
};

/** Exceptions of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html by types of errors. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  invalid_request_error: 'validationException',
  overloaded_error: 'serviceUnavailableException',
  rate_limit_error: 'throttlingException',
  timeout_error: 'modelTimeoutException',
};

/** The envelope of an answer that is no stream. */
export const wholeEnvelope = (writer: AwsWriter): Envelope => ({
  streamType: 'text/event-stream',
  events: (bytes) => bytes,
  whole: (body, status) => (status < 400 ? writer.whole(body) : withAwsError(body, status)),
});

/** Writes events in AWS's frames, and errors among them as exceptions. */
export async function openStreamEnvelope(writer: AwsWriter): Promise<Envelope> {
  const codec = await openCodec();
  const framer = createEventFramer();
  const frame = (headers: Record<string, string>, payload: object) =>
    codec.encode({
      headers: Object.fromEntries(
        Object.entries({ ':content-type': 'application/json', ...headers }).map(([name, value]) => [
          name,
          { type: 'string', value },
        ]),
      ),
      body: Buffer.from(JSON.stringify(payload)),
    });
  const framesOf = (data: string): Uint8Array[] => {
    const error = /"type":\s*"error"/.test(data) ? parseObject(data)?.error : undefined;
    if (!isObject(error))
      return writer
        .events(data)
        .map(({ type, payload }) => frame({ ':event-type': type, ':message-type': 'event' }, payload));
    const type = EXCEPTIONS[String(error.type)] ?? 'internalServerException';
    return [frame({ ':exception-type': type, ':message-type': 'exception' }, { message: error.message })];
  };
  return {
    ...wholeEnvelope(writer),
    streamType: 'application/vnd.amazon.eventstream',
    events: (bytes) => Buffer.concat(dataIn(framer.push(bytes)).flatMap(framesOf)),
  };
}

/** An error of the messages API, with its message where AWS's clients read it. */
function withAwsError(body: Buffer, status: number): Buffer {
  const value = parseObject(body.toString('utf8'));
  const error = isObject(value?.error) ? value.error : value;
  if (!value || typeof error?.message !== 'string') return body;
  return Buffer.from(JSON.stringify({ ...value, ...awsError(error.message, status) }));
}
