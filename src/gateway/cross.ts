import { badRequest } from '../errors.ts';
import { modelLimits } from '../pricing/limits.ts';
import type { Job } from './job.ts';
import type { Target } from './resolve.ts';
import { parseObject } from './wire/events.ts';
import { CROSSINGS } from './wire/translate/crossings.ts';
import type { WireRequest } from './wire/wire.ts';

/** Anthropic wants a limit on every request; this is for models of which nobody knows how much they write. */
const DEFAULT_MAX_TOKENS = 8_192;

/**
 * The job in the words of the provider's wire; the very same job where it speaks the client's. Throws GwError 400 for
 * what can't be said there.
 */
export function cross(job: Job, target: Target, now: () => number): Job {
  const { wire, asked } = job;
  const { provider, model } = target;
  if (provider.wire === wire.family) return job;
  const crossing = CROSSINGS.get(wire.endpoint);
  if (!crossing) {
    throw badRequest(
      `"model" ${asked.model} is served by ${provider.name}, which has no /v1/${wire.endpoint}. Use /v1/chat/completions or /v1/messages for it`,
      'model',
      'unsupported_endpoint',
    );
  }
  const body = parseObject(asked.bytes.toString('utf8'));
  if (!body) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const known = modelLimits(provider.name, model)?.maxOutputTokens;
  const translated = crossing.translateRequest(body, {
    model,
    maxTokens: known ?? DEFAULT_MAX_TOKENS,
    outputLimit: provider.outputLimit,
  });
  const sent = crossing.wire.parse(Buffer.from(JSON.stringify(translated)));
  const { model: name, wantsUsage } = asked;
  return {
    ...job,
    wire: crossing.wire,
    asked: known === undefined ? sent : withLimitOf(sent, asked),
    translator: crossing.translateAnswers({ model: name, wantsUsage, now }),
  };
}

/** A limit that was only written because the wire wants one may be cut to what a budget affords. */
function withLimitOf(sent: WireRequest, { maxOutputTokens }: WireRequest): WireRequest {
  return { ...sent, maxOutputTokens };
}

/** The targets that speak the client's wire before those that have to be translated for. */
export function nativeFirst(targets: Target[], { wire }: Job): Target[] {
  const isNative = ({ provider }: Target) => provider.wire === wire.family;
  if (targets.every(isNative)) return targets;
  return [...targets.filter(isNative), ...targets.filter((target) => !isNative(target))];
}
