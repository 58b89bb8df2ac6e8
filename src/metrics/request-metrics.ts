import { Counter, Histogram, type Registry, type RegistryContentType } from 'prom-client';
import { FLAGS, type RequestRecord } from '../store/ledger/record.ts';

/** Clients choose models' names, and each is a series of its own. */
const MAX_MODELS = 200;

const DURATIONS_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Registers the metrics of requests, and returns what adds a record to them. */
export function createRequestMetrics(
  registry: Registry<RegistryContentType>,
  projectName: (id: number) => string,
): (record: RequestRecord) => void {
  const registers = [registry];
  const served = ['provider', 'model'] as const;
  const requests = new Counter({
    name: 'gw_requests_total',
    help: 'Requests by how they ended: ok, blocked (by a budget), client_gone, upstream_error, ...',
    labelNames: [...served, 'outcome'],
    registers,
  });
  const tokens = new Counter({
    name: 'gw_tokens_total',
    help: 'Billed tokens. cached and cache_write are parts of input, reasoning is a part of output.',
    labelNames: [...served, 'type'],
    registers,
  });
  const cost = new Counter({
    name: 'gw_cost_usd_total',
    help: 'Cost of requests in US dollars.',
    labelNames: [...served, 'project'],
    registers,
  });
  const savedTokens = new Counter({
    name: 'gw_optimizer_saved_tokens_total',
    help: 'Input tokens that compression spared.',
    labelNames: served,
    registers,
  });
  const estimated = new Counter({
    name: 'gw_estimated_requests_total',
    help: 'Requests whose tokens gw counted itself, as the provider reported none.',
    labelNames: served,
    registers,
  });
  const durations = new Histogram({
    name: 'gw_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['provider'],
    buckets: DURATIONS_S,
    registers,
  });
  const firstBytes = new Histogram({
    name: 'gw_first_byte_seconds',
    help: 'Time from the request to the first byte of its answer.',
    labelNames: ['provider'],
    buckets: DURATIONS_S,
    registers,
  });
  const models = new Set<string>();

  function modelLabel({ provider, model }: RequestRecord): string {
    // What was never sent names whatever the client wrote.
    if (provider === '') return '';
    if (models.size < MAX_MODELS) models.add(model);
    return models.has(model) ? model : 'other';
  }

  return (record) => {
    const { provider, outcome, usage, projectId, costNanoUsd, durationMs, firstByteMs } = record;
    const labels = { provider, model: modelLabel(record) };
    requests.inc({ ...labels, outcome });
    const counts = {
      input: usage.inputTokens,
      cached: usage.cachedInputTokens,
      cache_write: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      output: usage.outputTokens,
      reasoning: usage.reasoningTokens,
    };
    for (const [type, count] of Object.entries(counts)) if (count > 0) tokens.inc({ ...labels, type }, count);
    if (costNanoUsd > 0) cost.inc({ ...labels, project: projectName(projectId) }, costNanoUsd / 1e9);
    if (record.savedTokens > 0) savedTokens.inc(labels, record.savedTokens);
    if (record.flags & FLAGS.estimated) estimated.inc(labels);
    if (provider === '' || outcome === 'blocked') return;
    durations.observe({ provider }, durationMs / 1000);
    if (firstByteMs !== null) firstBytes.observe({ provider }, firstByteMs / 1000);
  };
}
