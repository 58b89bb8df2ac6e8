import type { Provider } from '../providers/registry.ts';
import type { ProviderHealth } from '../store/dashboard/provider-health.ts';
import type { StatusView } from './schemas/status.ts';
import { parseTime, timeText } from './times.ts';

type HealthView = StatusView['provider_health'][number];

/** A provider without a call in the last hour. */
const IDLE = {
  ...{ attempts: 0, failedAttempts: 0, failovers: [], blocks: [], firstByteMs: null },
  ...{ lastSuccessAt: null, lastFailureAt: null, lastFailureStatus: null, lastFailure: null },
};

/** The health of all providers, idle ones included. */
export function viewHealth(
  all: readonly ProviderHealth[],
  providers: ReadonlyMap<string, Provider>,
): HealthView[] {
  const called = new Set(all.map(({ provider }) => provider));
  const own = [...providers.values()].filter(({ source }) => source !== 'built-in');
  const idle = own.filter(({ name }) => !called.has(name)).map(({ name }) => ({ ...IDLE, provider: name }));
  return [...all, ...idle]
    .map((health) => viewOf(health, providers.get(health.provider)?.source ?? 'removed'))
    .sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

function viewOf(health: ProviderHealth, source: HealthView['source']): HealthView {
  const { provider, attempts, failedAttempts } = health;
  return {
    provider,
    source,
    attempts,
    failed_attempts: failedAttempts,
    error_share: attempts === 0 ? null : failedAttempts / attempts,
    last_success_at: timeText(health.lastSuccessAt),
    last_failure_at: timeText(health.lastFailureAt),
    last_failure_status: health.lastFailureStatus,
    last_failure: health.lastFailure,
    first_byte_ms: health.firstByteMs,
    failovers: health.failovers,
    blocks: health.blocks.map(({ because, until }) => ({ because, until: timeText(until) })),
  };
}

/** The health as the store has it. */
export function healthOf(view: HealthView): ProviderHealth {
  const { provider, attempts, failovers } = view;
  return {
    provider,
    attempts,
    failedAttempts: view.failed_attempts,
    lastSuccessAt: parseTime(view.last_success_at),
    lastFailureAt: parseTime(view.last_failure_at),
    lastFailureStatus: view.last_failure_status,
    lastFailure: view.last_failure,
    firstByteMs: view.first_byte_ms,
    failovers,
    blocks: view.blocks.map(({ because, until }) => ({ because, until: parseTime(until) })),
  };
}
