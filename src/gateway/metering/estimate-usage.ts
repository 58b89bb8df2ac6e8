import { tokenBound } from '../../tokens/bound.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { RequestWire } from '../../wire/wire.ts';
import { callsOf } from '../admission/admitted.ts';
import { nonTextBound } from '../admission/input-tokens.ts';
import { inputWith } from '../admission/quote.ts';
import { UNKNOWN_TOKENIZER_SLACK } from '../answer/output-guard.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Metering } from './metered.ts';

/** What a request whose provider reported no usage may have used. */
export interface Estimate {
  usage: TokenUsage;
  /** The provider wrote measurably more than it was allowed. */
  isBeyondLimit: boolean;
}

/**
 * The input as counted, and of the output what was received plus, for an answer that was cut, what may have been
 * generated unseen: reasoning before the first byte and what was under way after the last, at the fastest rate that
 * a provider is taken to have. Never more than was asked for.
 */
export async function estimateUsage(
  gateway: Gateway,
  wire: RequestWire,
  metering: Metering,
): Promise<Estimate> {
  const { context, target, admitted, relay, whole } = metering;
  // Before anything is awaited: the time that counting takes is not time that the provider had.
  const nonText = unseenTokens(gateway, metering);
  const encoding = encodingOf(target.model);
  const bound = (texts: string[]) => texts.reduce((sum, text) => sum + tokenBound(text), 0);
  // A hold has to be settled even if the counting breaks down.
  const count = async (texts: string[]) =>
    encoding ? gateway.tokens.count(texts, encoding).catch(() => bound(texts)) : bound(texts);
  const prompt = wire.promptOf(context.request);
  // The client has the event that was cut, too; what of it is text can't be told.
  const received = whole ? relay.receivedText() : [...relay.receivedText(), relay.unended];
  const [input, visible] = await Promise.all([count(prompt.texts), count(received)]);
  const { choices, beyondLimit } = admitted.quote;
  const most = admitted.quote.outputTokens * choices;
  const outputTokens = Math.min(visible + nonText, Math.max(most, visible)) + beyondLimit * choices;
  const pointedAt = nonTextBound(prompt.nonText, target);
  const inputTokens = input + prompt.tokens + 4 * prompt.items + 3 + pointedAt;
  const first = Math.min(admitted.quote.inputTokens, inputTokens);
  // The rounds that the provider's tools made possible are as unseen as what it wrote in them.
  const rounds = inputWith(admitted.quote, callsOf(admitted)) - admitted.quote.inputTokens;
  return {
    usage: { ...NO_USAGE, inputTokens: first + rounds, outputTokens },
    isBeyondLimit: metering.whole && visible > most && (await isBeyond(gateway, metering, most)),
  };
}

/** So many characters for each token that was allowed show whether there were twice as many tokens; not all is read. */
const TELLING = 16;
const MOST_COUNTED = 1_000_000;

/** Whether the text shows it: bytes do not, where no tokenizer is known, but twice the tokens of another do. */
async function isBeyond(gateway: Gateway, { target, relay }: Metering, most: number): Promise<boolean> {
  if (encodingOf(target.model)) return true;
  const start = relay
    .receivedText()
    .join('')
    .slice(0, Math.min(TELLING * most, MOST_COUNTED));
  const counted = await gateway.tokens.count([start], 'o200k_base').catch(() => 0);
  return counted > UNKNOWN_TOKENIZER_SLACK * most;
}

function unseenTokens(gateway: Gateway, { relay, sentAt, whole }: Metering): number {
  // What came can't be told, so it may be all that was asked for.
  if (whole) return relay.isReadable ? 0 : Number.MAX_SAFE_INTEGER;
  const now = gateway.clock.monotonic();
  const before = (relay.isStream ? (relay.firstByteAt ?? now) : now) - sentAt;
  const after = relay.isStream && relay.lastByteAt !== undefined ? now - relay.lastByteAt : 0;
  return Math.ceil(((before + after) * gateway.settings()['metering.max_tokens_per_second']) / 1000);
}
