import type { Translator } from '../translation/translator.ts';
import type { Wire } from '../wire/wire.ts';
import type { Exchange } from './context/exchange.ts';

/** What an answer is relayed with. */
export interface RelayOptions {
  exchange: Exchange;
  wire: Wire;
  /** For a client of another wire. */
  translator?: Translator | undefined;
  /** The client did not ask for the usage of its stream. */
  hideUsage: boolean;
  /** How long the client may read nothing. */
  clientIdleMs: number;
  /** Nothing of a stream goes out before its first content, as another target may have to answer instead. */
  holdsBack?: boolean;
  /** gw's own headers, for when the answer's head goes out. */
  ownHeaders: () => string[];
  /** Monotonic milliseconds. */
  now: () => number;
}
