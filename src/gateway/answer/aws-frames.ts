import { openCodec } from '../../providers/clouds/bedrock/frames.ts';

/** Rewrites bytes of a stream before they go to the client. */
export type StreamEncoder = (events: Buffer) => Buffer;

/** Exceptions of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html by types of errors. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  invalid_request_error: 'validationException',
  overloaded_error: 'serviceUnavailableException',
  rate_limit_error: 'throttlingException',
  timeout_error: 'modelTimeoutException',
};

/** Writes events of the messages API as chunks of InvokeModelWithResponseStream, and errors as exceptions. */
export async function openFrameEncoder(): Promise<StreamEncoder> {
  const codec = await openCodec();
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
  let rest = '';
  return (bytes) => {
    // Events are whole JSON texts, so a character is never cut: latin1 keeps its bytes.
    const [...texts] = (rest + bytes.toString('latin1')).split('\n\n');
    rest = texts.pop() ?? '';
    const frames = texts.flatMap((text) => {
      const data = /^data: ?(.*)$/m.exec(text)?.[1];
      if (data === undefined) return [];
      const json = Buffer.from(data, 'latin1');
      if (!/^event: ?error$/m.test(text))
        return frame(
          { ':event-type': 'chunk', ':message-type': 'event' },
          { bytes: json.toString('base64') },
        );
      const { error } = JSON.parse(json.toString('utf8')) as { error: { type: string; message: string } };
      const type = EXCEPTIONS[error.type] ?? 'internalServerException';
      return frame({ ':exception-type': type, ':message-type': 'exception' }, { message: error.message });
    });
    return Buffer.concat(frames);
  };
}
