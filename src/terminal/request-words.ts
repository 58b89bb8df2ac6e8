import { isObject } from '../json/object.ts';
import { formatUsd, NANO_PER_USD, type NanoUsd } from '../money.ts';
import type { CacheView } from '../reading/cache-schema.ts';
import type { ProviderHealth } from '../store/dashboard/provider-health.ts';
import type { MissCause } from '../store/ledger/record.ts';
import { percent, plural } from './numbers.ts';
import { type TimeFormat, tookText } from './time.ts';

/** The mark of a request in a list: `X` if it was blocked, `!` for any other outcome but ok. */
export function mark({ outcome }: { outcome: string }): string {
  if (outcome === 'ok') return ' ';
  return outcome === 'blocked' ? 'X' : '!';
}

/** The cost, `unpriced` if the price is unknown, `not billed` under a subscription, with `~` if it is estimated. */
export function costOf({ costNanoUsd, flags }: { costNanoUsd: NanoUsd; flags: readonly string[] }): string {
  if (flags.includes('unpriced')) return 'unpriced';
  if (flags.includes('not_billed')) return 'not billed';
  return `${flags.includes('estimated') ? '~' : ''}${formatUsd(costNanoUsd)}`;
}

/** The calling program and its repository, if they are known. */
export function originText({ process, repo }: Record<'process' | 'repo', string | null>): string {
  return `${process || 'unknown'}${repo ? ` in ${repo}` : ''}`;
}

/** The name of a repository: the last part of its path. */
export function shortRepo(repo: string): string {
  return repo.replace(/^.*\/(?=.)/, '');
}

/** `provider/model`. The names of sandbox models already start with `sandbox/`. */
export function servedBy({ provider, model }: Record<'provider' | 'model', string>): string {
  if (provider === '') return 'nobody';
  return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}

/** Fewer failures than this share of at least this many calls are no outage. */
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

/** How a provider stands, most important first: what keeps requests from it, what failed, where requests went, how fast. */
export function healthText(health: ProviderHealth, times: TimeFormat, now: number): string {
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
  return parts.filter(Boolean).join(', ');
}

/** The last failure, with whose 401 it was: gw's own refusals of a client's key never reach a provider. */
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

/** The first place that differs; '' where there is none. */
export function missPlace({ field, offset }: Pick<Miss, 'field' | 'offset'>): string {
  if (field === null || field === 'model') return '';
  return offset === null ? field : `${field} at ${offset}`;
}

/** What a request missed, as its record's detail has it. */
export function missText(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  // A recorded miss has the fields of the report's rows.
  const miss = value as unknown as Miss;
  const place = missPlace(miss);
  const usd = formatUsd(Math.round(miss.missed_usd * NANO_PER_USD));
  return `${plural(miss.missed_tokens, 'token')} not read, ${usd} extra: ${missCause(miss.cause)}${place && ` (${place})`}`;
}
