import type { Clock } from '../../clock.ts';
import type { RawHeaders } from '../../raw-headers.ts';
import type { Redactor } from '../../redact.ts';
import type { Translator } from '../../translation/translate.ts';
import type { TokenUsage } from '../../usage.ts';
import type { InspectedEvents, StreamFault } from '../../wire/answer/inspected-events.ts';
import type { AnswerWire } from '../../wire/wire.ts';
import type { Exchange } from '../context/exchange.ts';
import { translatedHeaders } from '../upstream/headers.ts';
import type { ResponseWriter } from './response-writer.ts';

export const NOTHING: Buffer = Buffer.alloc(0);

/** How to relay an answer. */
export interface RelayOptions {
  exchange: Exchange;
  wire: AnswerWire;
  /** Set when the client speaks another API than the provider. */
  translator?: Translator | undefined;
  /** The client did not ask for the usage of its stream. */
  hideUsage: boolean;
  /** A client that reads nothing for this long is cut off. */
  clientIdleMs: number;
  /** A stream is held back until its first content: until then another target can still answer. */
  holdsBack: boolean;
  /** The stream may be stopped at its output limit. */
  mayStop: boolean;
  /** Reads the provider's headers as they come. */
  onHead?: ((headers: RawHeaders) => void) | undefined;
  /** Reads the bytes of the answer as they come. */
  onBody?: ((bytes: Buffer) => void) | undefined;
  /** Changes a gathered answer for the client. */
  editAnswer?: ((body: Buffer) => Buffer) | undefined;
  /** gw's own headers, read when the answer's head goes out. */
  ownHeaders: () => string[];
  /** Finds the credential that the provider was sent. */
  credential: Redactor;
  /** Finds all secrets that gw knows. */
  redact: (text: string) => string;
  /** Takes the events of a stream as the provider sent them. What it returns resolves when the new ids are on disk. */
  takeEvents?: ((events: Buffer) => Promise<void> | undefined) | undefined;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Runs a function after some milliseconds, unless what it returns is called before. */
  after: Clock['after'];
}

/** Results of tools that the provider runs, and the bytes of the stream up to each, in all. */
export interface ToolResults {
  count: number;
  bytes: number;
}

/** The most that a model has read again behind them, in tokens: its prompt, and what came until then. */
export const readAgain = ({ count, bytes }: ToolResults, promptTokens: number): number =>
  count * promptTokens + bytes;

/** Follows an answer as it arrives. */
export interface RelayObserver {
  /** A stream that was held back has its first content. */
  onContent(): void;
  /** After each run of events, with the size of the stream so far. */
  onEvents(streamedBytes: number): void;
  /** After results of tools that the provider runs. */
  onToolResults(all: ToolResults): void;
  /** A stream's closing event has arrived, so the answer is complete. */
  onClosed(): void;
  /** A stream's closing event has arrived without final usage, which may follow it. */
  onClosedEarly(): void;
  /** Nobody needs the bytes that still arrive. */
  onSurplus(): void;
  /** An answer that has to be gathered for translation is too long. */
  onTooLong(): void;
}

/** An answer's head, and the client that it goes to. */
export interface Answer {
  status: number;
  /** The provider's headers, flat, names in lower case. */
  headers: string[];
  /** Resumes the provider's stream after a pause. */
  resume: () => void;
  readonly client: ResponseWriter;
  readonly options: RelayOptions;
  readonly observer: RelayObserver;
}

/** Writes the status and headers that the client gets. */
export function writeHead(
  { client, status, headers, options }: Answer,
  isStream: boolean,
  ...more: string[]
): void {
  const { translator, ownHeaders } = options;
  const own = translator ? translatedHeaders(headers, isStream) : headers;
  client.head(status, own.concat(ownHeaders(), more));
}

/** The bytes without secrets; the same bytes if there are none. */
export function redactBytes(bytes: Buffer, redact: (text: string) => string): Buffer {
  const text = bytes.toString('utf8');
  const clean = redact(text);
  return clean === text ? bytes : Buffer.from(clean);
}

/** Receives one kind of answer. The defaults suit an answer that gw can't read. */
export abstract class AnswerReceiver {
  /** The usage as the provider reported it. */
  usage: unknown;
  usageIs: InspectedEvents['usageIs'];
  readonly toolResults: ToolResults = { count: 0, bytes: 0 };
  /** An error that the provider reported inside a stream. */
  streamError: string | undefined;
  readonly isStream: boolean = false;
  protected readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }

  /** Whether any of the answer has gone out. */
  abstract get started(): boolean;
  /** Takes the next bytes. Returns false to pause the provider until `resume`. */
  abstract data(chunk: Buffer): boolean;
  /** Called when the provider has ended the answer: reads what only its end contains, such as the usage. */
  abstract readEnd(): void;
  /** Sends what is left and ends the answer. */
  abstract finish(): void;

  /** Translates a gathered answer. Throws GwError 502 if it can't be translated. */
  prepare(): void {}

  /** Ends a stream at its output limit as the provider would, with the usage that is booked. */
  finishAtLimit(_usage: TokenUsage): void {
    this.breakOff();
  }

  /** Breaks the answer off visibly: the client sees that it is incomplete. A stream also says why. */
  breakOff(_fault?: StreamFault): void {
    this.answer.client.breakOff(NOTHING);
  }

  /** The closing event of a stream as received; empty until it arrives. */
  get closingEvent(): Buffer {
    return NOTHING;
  }

  /** Whether a stream has ended without a closing event or a finish reason. */
  get isCutShort(): boolean {
    return false;
  }

  /** The received bytes of an answer that has not gone out; undefined if they can't be read. */
  get unsent(): Buffer | undefined {
    return undefined;
  }

  /** The first events of a stream, the last of them perhaps in part. */
  get firstEvents(): Buffer {
    return NOTHING;
  }

  /** The last events of a stream, including the closing event. */
  get lastEvents(): Buffer | undefined {
    return undefined;
  }

  /** Whether gw can read the whole answer, and so count its text. */
  get isReadable(): boolean {
    return false;
  }

  /** The incomplete event at the end of a stream. */
  get unended(): string {
    return '';
  }

  /** A gathered answer as text; empty if it can't be read. */
  body(): string {
    return '';
  }

  /** The text received so far, for counting tokens when the provider reports no usage. */
  receivedText(): string[] {
    return [''];
  }
}
