import { isObject } from '../json/object.ts';
import { formatUsd, type NanoUsd } from '../money.ts';
import type { CacheView } from '../operations/schemas/cache.ts';
import type { RequestView } from '../operations/schemas/requests.ts';
import type { FeedRow } from '../store/dashboard/feed.ts';
import type { ProviderHealth } from '../store/dashboard/provider-health.ts';
import type { MissCause } from '../store/ledger/record.ts';
import { percent, plural, usdText } from './numbers.ts';
import { type TimeFormat, tookText } from './time.ts';

/** What lists show of a request, besides its id. */
export function feedFieldsOf(request: RequestView): Omit<FeedRow, 'id'> {
  const { error } = request.detail;
  return {
    timeMs: Date.parse(request.created_at),
    project: request.project_id,
    provider: request.provider,
    model: request.model,
    askedModel: request.asked_model,
    status: request.status,
    outcome: request.outcome,
    flags: request.flags,
    inputTokens: request.input_tokens,
    outputTokens: request.output_tokens,
    costNanoUsd: request.cost_nano_usd,
    durationMs: request.duration_ms,
    error: typeof error === 'string' ? error : null,
  };
}

/** Mark of a request in a list: `X` if a budget blocked it, `!` for other failures. */
export function mark({ outcome }: { outcome: string }): string {
  if (outcome === 'ok') return ' ';
  return outcome === 'blocked' ? 'X' : '!';
}

/** The cost; `unpriced` if the price is unknown, `not billed` under a subscription, `~` if estimated. */
export function costOf({ costNanoUsd, flags }: { costNanoUsd: NanoUsd; flags: readonly string[] }): string {
  if (flags.includes('unpriced')) return 'unpriced';
  if (flags.includes('not_billed')) return 'not billed';
  return `${flags.includes('estimated') ? '~' : ''}${formatUsd(costNanoUsd)}`;
}

/** The model that served a request, or would have; behind the model that it asked for, if a budget sent it on. */
export function modelName(row: { model: string; askedModel: string; flags: readonly string[] }): string {
  const { model, askedModel, flags } = row;
  return flags.includes('fallback') ? `${askedModel} > ${model}` : model || askedModel || '-';
}

/** The calling program and its repository, if they are known. */
export function originText({ process, repo }: Record<'process' | 'repo', string | null>): string {
  return `${process || 'unknown'}${repo ? ` in ${repo}` : ''}`;
}

/** Last part of a repository's path. */
export const shortRepo = (repo: string): string => repo.replace(/^.*\/(?=.)/, '');

/** `provider/model`. Names of sandbox models already start with `sandbox/`. */
export function servedBy({ provider, model }: Record<'provider' | 'model', string>): string {
  if (provider === '') return 'nobody';
  return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}

/** Failure rate from which a provider is in trouble. */
const TROUBLE_SHARE = 0.1;

export function isTroubled({
  attempts,
  failedAttempts,
  lastSuccessAt,
  lastFailureAt,
  blocks,
}: ProviderHealth): boolean {
  if (blocks.length > 0) return true;
  if (failedAttempts === 0) return false;
  return (lastFailureAt ?? 0) > (lastSuccessAt ?? 0) || failedAttempts >= TROUBLE_SHARE * attempts;
}

const BLOCK_WORDS: Readonly<Record<string, string>> = {
  breaker: 'circuit breaker open',
  auth: 'its key was refused',
  quota: 'its quota is used up',
  rate_limit: 'rate-limited',
  guess: 'rate-limited',
  used_up: 'its rate limit is used up',
  overload: 'overloaded',
};

/** Health of a provider, most important first: blocks, failures, failovers, latency. */
export function healthText(health: ProviderHealth, times: TimeFormat, now: number): string {
  return healthParts(health, times, now).join(', ');
}

export function healthParts(health: ProviderHealth, times: TimeFormat, now: number): string[] {
  const { attempts, failedAttempts, lastSuccessAt, firstByteMs, failovers, blocks } = health;
  const parts = [
    ...blocks.map(
      ({ because, until }) => `${BLOCK_WORDS[because] ?? because} until ${times.time(until).slice(0, 8)}`,
    ),
    failedAttempts > 0 ? `${percent(failedAttempts / attempts)} of ${attempts} calls failed` : '',
    failureText(health, times, now),
    ...failovers.map(({ to, requests }) => `${requests} went on to ${to}`),
    lastSuccessAt === null
      ? 'no success in the last hour'
      : `last success ${times.moment(lastSuccessAt, now)}`,
    firstByteMs === null ? '' : `first byte after ${tookText(firstByteMs)}`,
  ];
  return parts.filter(Boolean);
}

/** The last failure. A 401 or 403 comes from the provider here: gw's own refusals are no attempts. */
function failureText(
  { provider, lastFailureAt, lastFailureStatus: status, lastFailure }: ProviderHealth,
  times: TimeFormat,
  now: number,
): string {
  if (lastFailureAt === null) return '';
  const at = times.moment(lastFailureAt, now);
  if (status === 401 || status === 403)
    return `${provider} refused gw's key for it (HTTP ${status}) ${at}: gw providers add ${provider}`;
  return `last failure ${at}: ${status ? `HTTP ${status}` : lastFailure || 'no answer'}`;
}

type Miss = CacheView['data'][number];

const CAUSES: Record<MissCause, string> = {
  none: '',
  tools_changed: 'tools changed',
  system_changed: 'instructions changed',
  message_edited: 'earlier message changed',
  idle_past_ttl: 'idle past its lifetime',
  other_model: 'other model or provider',
  provider_dropped: 'the provider dropped it',
  unknown: 'unknown',
};

export const missCause = (cause: MissCause): string => CAUSES[cause];

/** First difference from the cached prompt; '' if there is none. */
export function missPlace({ field, offset }: Pick<Miss, 'field' | 'offset'>): string {
  if (field === null || field === 'model') return '';
  return offset === null ? field : `${field} at ${offset}`;
}

/** The cache miss in a record's detail. */
export function missText(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  // A recorded miss has the same fields as a row of the report.
  const miss = value as unknown as Miss;
  const place = missPlace(miss);
  return `${plural(miss.missed_tokens, 'token')} not read, ${usdText(miss.missed_usd)} extra: ${missCause(miss.cause)}${place && ` (${place})`}`;
}
