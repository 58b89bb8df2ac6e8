import type { Provider } from '../providers/registry.ts';
import type { ProviderHealth } from '../store/dashboard/provider-health.ts';
import type { StatusView } from './schemas/status.ts';

type HealthView = StatusView['provider_health'][number];

/** The health of all providers, those without a call in the last hour included. */
export function viewHealth(
  all: readonly ProviderHealth[],
  providers: ReadonlyMap<string, Provider>,
): HealthView[] {
  const called = new Set(all.map(({ provider }) => provider));
  const idle = [...providers.values()].filter(
    ({ name, source }) => source !== 'built-in' && !called.has(name),
  );
  const views = all.map((each) => viewOf(each, providers.get(each.provider)?.source ?? 'removed'));
  return [...views, ...idle.map(({ name, source }) => viewOf(idleHealth(name), source))].sort((a, b) =>
    a.provider < b.provider ? -1 : 1,
  );
}

function viewOf(health: ProviderHealth, source: HealthView['source']): HealthView {
  const { provider, attempts, failedAttempts } = health;
  return {
    provider,
    source,
    attempts,
    failed_attempts: failedAttempts,
    error_share: attempts === 0 ? null : failedAttempts / attempts,
    last_success_at: orNull(health.lastSuccessAt),
    last_failure_at: orNull(health.lastFailureAt),
    last_failure_status: health.lastFailureStatus,
    last_failure: health.lastFailure,
    first_byte_ms: health.firstByteMs,
    failovers: health.failovers,
    blocks: health.blocks.map(({ because, until }) => ({ because, until: isoTime(until) })),
  };
}

/** The same as the store has it. */
export function healthOf(view: HealthView): ProviderHealth {
  const { provider, attempts, failovers } = view;
  return {
    provider,
    attempts,
    failedAttempts: view.failed_attempts,
    lastSuccessAt: view.last_success_at === null ? null : Date.parse(view.last_success_at),
    lastFailureAt: view.last_failure_at === null ? null : Date.parse(view.last_failure_at),
    lastFailureStatus: view.last_failure_status,
    lastFailure: view.last_failure,
    firstByteMs: view.first_byte_ms,
    failovers,
    blocks: view.blocks.map(({ because, until }) => ({ because, until: Date.parse(until) })),
  };
}

function idleHealth(provider: string): ProviderHealth {
  const none = { lastSuccessAt: null, lastFailureAt: null, lastFailureStatus: null, lastFailure: null };
  return { provider, attempts: 0, failedAttempts: 0, ...none, firstByteMs: null, failovers: [], blocks: [] };
}

const isoTime = (timeMs: number) => new Date(timeMs).toISOString();
const orNull = (timeMs: number | null) => (timeMs === null ? null : isoTime(timeMs));
