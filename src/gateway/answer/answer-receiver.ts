import type { Translator } from '../../translation/translator.ts';
import type { TokenUsage } from '../../usage.ts';
import type { StreamFault } from '../../wire/answer/error-event.ts';
import type { InspectedEvents } from '../../wire/answer/inspected-events.ts';
import type { AnswerWire } from '../../wire/wire.ts';
import type { Exchange } from '../context/exchange.ts';
import { translatedHeaders } from '../upstream/headers.ts';
import type { ResponseWriter } from './response-writer.ts';

export const NOTHING: Buffer = Buffer.alloc(0);

/** How an answer is relayed. */
export interface RelayOptions {
  exchange: Exchange;
  wire: AnswerWire;
  /** Set when the client speaks another API than the provider. */
  translator?: Translator | undefined;
  /** The client did not ask for the usage of its stream. */
  hideUsage: boolean;
  /** How long the client may read nothing. */
  clientIdleMs: number;
  /** Nothing of a stream goes out before its first content, as another target may have to answer instead. */
  holdsBack: boolean;
  /** The stream may be stopped at its output limit. */
  mayStop: boolean;
  /** gw's own headers, read when the answer's head goes out. */
  ownHeaders: () => string[];
  /** Monotonic milliseconds. */
  now: () => number;
}

/** Is told how an answer comes along. */
export interface RelayObserver {
  /** The first content of a stream that was held back. */
  onContent(): void;
  /** After each run of events, with the size of the stream so far. */
  onEvents(streamedBytes: number): void;
  /** A stream's closing event has come: there is nothing more to wait for. */
  onClosed(): void;
  /** What still comes is of no use to anybody. */
  onSurplus(): void;
  /** An answer that can only be translated as a whole is too long for that. */
  onTooLong(): void;
}

/** The answer as its head describes it, and the client's side of it. */
export interface Answer {
  status: number;
  /** The provider's headers, flat, names in lower case. */
  headers: string[];
  /** Lets the provider go on after a pause. */
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

/** Receives one kind of answer. The defaults are those of an answer of which nothing can be read. */
export abstract class AnswerReceiver {
  /** What the provider reported as usage, as it came. */
  usage: unknown;
  usageIs: InspectedEvents['usageIs'];
  /** An error that the provider reported inside a stream. */
  streamError: string | undefined;
  readonly isStream: boolean = false;
  protected readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }

  /** Whether any of the answer has gone out. */
  abstract get started(): boolean;
  /** Takes the next bytes. False asks for a pause, until `resume`. */
  abstract data(chunk: Buffer): boolean;
  /** The provider has ended the answer: reads what only the end tells. */
  abstract readEnd(): void;
  /** Sends what is left and ends the answer. */
  abstract finish(): void;

  /** Translates a gathered answer. Throws GwError 502 if it can't be translated. */
  prepare(): void {}

  /** Ends a stream at its output limit in the provider's own form, with the usage that is booked. */
  finishAtLimit(_usage: TokenUsage): void {
    this.breakOff();
  }

  /** Breaks the answer off, so that the client sees that it is incomplete; a stream says why. */
  breakOff(_fault?: StreamFault): void {
    this.answer.client.breakOff(NOTHING);
  }

  /** The closing event of a stream as it came; empty before it. */
  get closingEvent(): Buffer {
    return NOTHING;
  }

  /** A stream that has ended with neither its closing event nor a reason to stop. */
  get isCutShort(): boolean {
    return false;
  }

  /** What has come of an answer that has not gone out; undefined if it can't be read. */
  get unsent(): Buffer | undefined {
    return undefined;
  }

  /** The last events of a stream, its closing one included. */
  get lastEvents(): { events: Buffer; isWhole: boolean } | undefined {
    return undefined;
  }

  /** Whether everything that came was read, so that its text can be counted. */
  get isReadable(): boolean {
    return false;
  }

  /** The beginning of an event that has not ended, and may never. */
  get unended(): string {
    return '';
  }

  /** A gathered answer as text; empty if it can't be read. */
  body(): string {
    return '';
  }

  /** The text that has come, for counting tokens when the provider reports none. */
  receivedText(): string[] {
    return [''];
  }
}
