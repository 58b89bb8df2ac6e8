import { encodingOf, tokenBound } from '../../tokens/encoding.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { RequestWire } from '../../wire/wire.ts';
import { callsOf, limitOf } from '../admission/admitted.ts';
import { nonTextBound } from '../admission/input-tokens.ts';
import { readPrompt } from '../admission/measure-prompt.ts';
import { inputWith } from '../admission/quote.ts';
import { UNKNOWN_TOKENIZER_SLACK } from '../answer/output-guard.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import type { Metering } from './metered.ts';

type EstimateParts = Pick<Gateway, 'clock' | 'settings' | 'tokens'>;

/** Upper estimate of the usage of an attempt whose provider reported none. */
interface Estimate {
  usage: TokenUsage;
  /** The text received is measurably longer than the output limit. */
  isBeyondLimit: boolean;
}

/**
 * Estimates the usage from the texts. A whole answer is counted by o200k's tokenizer where the model's own is unknown; one
 * that was broken off by its bytes, which are never fewer than its tokens, plus what the provider may have generated
 * without delivering it. The output is never estimated above the limit that was sent.
 */
export async function estimateUsage(
  gateway: EstimateParts,
  wire: RequestWire,
  metering: Metering,
): Promise<Estimate> {
  const { context, target, admitted, relay, whole } = metering;
  // Before the first await: the provider generates nothing while gw counts.
  const undelivered = undeliveredTokens(gateway, metering);
  const encoding = encodingOf(target.model);
  const bound = (texts: string[]) => texts.reduce((sum, text) => sum + tokenBound(text), 0);
  // The hold has to be settled even if counting fails.
  const count = async (texts: string[]) =>
    encoding || whole
      ? gateway.tokens.count(texts, encoding ?? 'o200k_base').catch(() => bound(texts))
      : bound(texts);
  const prompt = readPrompt({ wire, request: context.request, exchange: context.exchange });
  // The client also has the incomplete last event. Its text can't be parsed out, so all of it counts.
  const texts = whole ? relay.receivedText() : [...relay.receivedText(), relay.unended];
  const [input, visible] = await Promise.all([count(prompt.texts), count(texts)]);
  const { choices } = admitted.quote;
  const limit = limitOf(admitted) * choices;
  const beyond = admitted.quote.beyondLimit * choices;
  // Without a budget gw writes no limit, and the model's own may be unknown.
  const most = admitted.remaining === null ? Math.max(limit, visible) : limit;
  const nonText = nonTextBound(prompt.nonText, target);
  const inputTokens = input + prompt.tokens + 4 * prompt.items + 3 + nonText;
  const promptTokens = Math.min(admitted.quote.inputTokens, inputTokens);
  // Nothing tells how many rounds of tool calls there were, so all that were held for count.
  const toolTokens = inputWith(admitted.quote, callsOf(admitted)) - admitted.quote.inputTokens;
  const outputTokens = Math.min(Math.max(visible + undelivered.afterText, undelivered.inAll), most) + beyond;
  return {
    usage: {
      ...NO_USAGE,
      inputTokens: promptTokens + toolTokens,
      outputTokens,
      imageOutputTokens: outputTokens,
    },
    isBeyondLimit: whole && visible > limit + beyond && (await exceeds(gateway, metering, limit + beyond)),
  };
}

/** Counting this many characters per allowed token is enough to see whether there are twice as many tokens. */
const CHARACTERS_PER_TOKEN = 16;
const MAX_CHARACTERS = 1_000_000;

/** Whether the text exceeds the limit. With an unknown tokenizer, only twice the tokens of a known one are proof. */
async function exceeds(gateway: EstimateParts, { target, relay }: Metering, limit: number): Promise<boolean> {
  if (encodingOf(target.model)) return true;
  const start = relay
    .receivedText()
    .join('')
    .slice(0, Math.min(CHARACTERS_PER_TOKEN * limit, MAX_CHARACTERS));
  const tokens = await gateway.tokens.count([start], 'o200k_base').catch(() => 0);
  return tokens > UNKNOWN_TOKENIZER_SLACK * limit;
}

/** Upper bounds of the tokens that were generated. */
interface Undelivered {
  /** After the last text that was delivered. */
  afterText: number;
  /** In the whole answer, with what was delivered. */
  inAll: number;
}

const NOTHING: Undelivered = { afterText: 0, inAll: 0 };
const UP_TO_THE_LIMIT: Undelivered = { afterText: Number.MAX_SAFE_INTEGER, inAll: Number.MAX_SAFE_INTEGER };
/** Time for a provider to notice that its client has gone, and to stop. */
const NOTICE_MS = 1_000;

/**
 * What a provider may have generated without delivering it, at the fastest rate of any provider. Reasoning may be hidden at
 * any time since the request was sent, also between two texts. A host that goes on without its client generates up to the
 * limit.
 */
function undeliveredTokens(gateway: Pick<Gateway, 'clock' | 'settings'>, metering: Metering): Undelivered {
  const { relay, sentAt, whole, mayGoOn, admitted } = metering;
  // The length of an unreadable answer is unknown, so it may have reached the limit.
  if (whole) return relay.isReadable ? NOTHING : UP_TO_THE_LIMIT;
  if (mayGoOn && !stopsWhenCut(metering)) return UP_TO_THE_LIMIT;
  const untilMs = gateway.clock.monotonic() + (mayGoOn ? NOTICE_MS : 0);
  const seenAt = relay.isStream ? (relay.lastByteAt ?? sentAt) : sentAt;
  const perMs = (gateway.settings()['metering.max_tokens_per_second'] * admitted.quote.choices) / 1000;
  return {
    afterText: Math.ceil((untilMs - seenAt) * perMs),
    inAll: Math.ceil((untilMs - sentAt) * perMs),
  };
}

/** Whether the provider is known to stop generating, and billing, when gw closes the connection. */
export function stopsWhenCut({ context, target }: { context: AnyRequestContext; target: Target }): boolean {
  return target.provider.stopsOnHangUp && context.request.stream;
}
