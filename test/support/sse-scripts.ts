import { chatRequestOf, promptTokensOf } from './chat-request.ts';
import { chunkBody, type Usage, usageOf } from './chat-shapes.ts';
import { atOnce, type Pace } from './gate.ts';
import { raw, type Script } from './scripts.ts';

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_upstream' };

export interface SseOptions {
  /** Left out: counted from the request and the chunks. */
  usage?: Usage;
  /** Whether usage is reported; left out: if the request asks for it. */
  includeUsage?: boolean;
  /** Awaited before each piece that is written. */
  pace?: Pace;
  /** Left out: an event a piece. A number: two pieces, the first of so many bytes. */
  splitAt?: number | 'every-byte';
  /** Whether `data: [DONE]` ends the events. */
  done?: boolean;
  /** Only so many of the chunks are sent, and nothing of what belongs after them. */
  cutAfter?: number;
  /** How the answer ends: in order, by closing the connection within the body, or by resetting it. */
  end?: 'finish' | 'close' | 'reset';
  eol?: '\n' | '\r\n';
  headers?: Record<string, string>;
}

/** A part of a stream: the bytes of an event, and the tokens that it bills. */
interface Piece {
  bytes: Buffer;
  tokens: number;
}

/**
 * A streamed completion: a chunk for the role, one for each of `chunks`, one with the finish reason, the usage
 * and `[DONE]`. A string is a delta's content; an object adds to, or replaces, fields of a chunk.
 */
export function sse(chunks: (string | object)[], options: SseOptions = {}): Script {
  const { pace = atOnce, end = 'finish', eol = '\n' } = options;
  return async (exchange) => {
    const request = await chatRequestOf(exchange);
    const usage = options.usage ?? usageOf(promptTokensOf(exchange), chunks.length);
    const includeUsage = options.includeUsage ?? request.stream_options?.include_usage ?? false;
    const payloads = chatPayloads(request.model, chunks, includeUsage ? usage : undefined, options);
    const pieces = split(
      payloads.map(({ data, tokens }) => ({ bytes: Buffer.from(`data: ${data}${eol}${eol}`), tokens })),
      options.splitAt,
    );
    exchange.bill({ input: usage.prompt_tokens });
    await exchange.start(200, { ...HEADERS, ...options.headers });
    for (const { bytes, tokens } of pieces) {
      await exchange.until(pace());
      await exchange.chunk(bytes, tokens);
    }
    await exchange[end]();
  };
}

/** The data of each event of a chat stream. */
function chatPayloads(
  model: string,
  chunks: (string | object)[],
  usage: Usage | undefined,
  { cutAfter, done = true }: SseOptions,
) {
  const rest = usage ? { usage: null } : {};
  const of = (choice: object | undefined, more: object, tokens = 0) => ({
    data: JSON.stringify(chunkBody(model, choice, { ...rest, ...more })),
    tokens,
  });
  const contents = chunks
    .slice(0, cutAfter)
    .map((chunk) =>
      typeof chunk === 'string' ? of({ delta: { content: chunk } }, {}, 1) : of({}, chunk, 1),
    );
  const begun = [of({ delta: { role: 'assistant', content: '', refusal: null } }, {}), ...contents];
  if (cutAfter !== undefined) return begun;
  return [
    ...begun,
    of({ finish_reason: 'stop' }, {}),
    ...(usage ? [of(undefined, { usage })] : []),
    ...(done ? [{ data: '[DONE]', tokens: 0 }] : []),
  ];
}

/** Cuts the events' bytes anew; a token is billed with the piece that holds its event's last byte. */
function split(events: Piece[], splitAt: SseOptions['splitAt']): Piece[] {
  if (splitAt === undefined) return events;
  const whole = Buffer.concat(events.map((event) => event.bytes));
  const cuts = splitAt === 'every-byte' ? Array.from(whole, (_, at) => at + 1) : [splitAt, whole.length];
  const left = [...events];
  let end = left[0]?.bytes.length ?? 0;
  return cuts.map((to, index) => {
    let tokens = 0;
    while (end <= to && left.length > 0) {
      tokens += left.shift()?.tokens ?? 0;
      end += left[0]?.bytes.length ?? 0;
    }
    return { bytes: whole.subarray(cuts[index - 1] ?? 0, to), tokens };
  });
}

export interface CutOptions extends Omit<SseOptions, 'cutAfter'> {
  afterChunks: number;
}

/** A stream that breaks off after so many chunks of content; by a reset, if nothing else is said. */
export function cut({ afterChunks, ...options }: CutOptions): Script {
  const words = Array.from({ length: afterChunks }, (_, index) => ` word${index}`);
  return sse(words, { end: 'reset', ...options, cutAfter: afterChunks });
}

/** An event stream whose events are no chunks: broken JSON, no JSON, lines without a field, empty data. */
export function malformedSse(): Script {
  const events =
    'data: {"id":"chatcmpl-test","choices":[{"del\n\ndata: no json\n\nno field\n\ndata:\n\n: hm\n\n';
  return raw(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${events}`);
}
