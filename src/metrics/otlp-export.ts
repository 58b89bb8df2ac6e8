import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../clock.ts';
import { formatRequestId, timeOfRequestId } from '../ids.ts';
import { FLAGS, type RequestRecord } from '../store/ledger/record.ts';
import { VERSION } from '../version.ts';
import { createExportWatch, type ExportWatch, type Log } from './export-watch.ts';

export interface ExportOptions {
  endpoint: string;
  instanceId: string;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/** Sends records to a collector in batches. */
export interface OtlpExport {
  observe(record: RequestRecord): void;
  /** Flushes, then stops. */
  shutdown(): Promise<void>;
}

/**
 * Buckets from the semantic conventions:
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-metrics.md
 */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Values of `gen_ai.operation.name` by endpoint; others use the endpoint's name. */
const OPERATIONS: Readonly<Record<string, string>> = {
  'chat/completions': 'chat',
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
};

/** Values of `gen_ai.provider.name` that differ from gw's names. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
};

/**
 * Exports records as spans and metrics of the GenAI conventions, by OTLP over HTTP. The SDK reads headers, timeouts,
 * certificates, sampling and queue sizes from the standard OTEL_* variables. Its span queue is bounded and drops the
 * newest spans when full. Records contain no text of prompts or answers.
 */
export function createExport({ endpoint, instanceId, clock, log }: ExportOptions): OtlpExport {
  const resource = resourceFromAttributes({
    'service.name': 'gw',
    'service.version': VERSION,
    'service.instance.id': instanceId,
  }).merge(detectResources({ detectors: [envDetector] }));
  const base = endpoint.endsWith('/') ? endpoint.slice(0, -1) : endpoint;
  const watch = createExportWatch(base, log);
  const tracing = new BasicTracerProvider({
    resource,
    spanProcessors: [
      new BatchSpanProcessor(watched(new OTLPTraceExporter({ url: `${base}/v1/traces` }), 'traces', watch)),
    ],
  });
  const metering = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: watched(new OTLPMetricExporter({ url: `${base}/v1/metrics` }), 'metrics', watch),
      }),
    ],
  });
  const addSpan = createSpans(tracing, clock);
  const addMetrics = createInstruments(metering);
  return {
    observe(record) {
      addSpan(record);
      addMetrics(record);
    },
    async shutdown() {
      await Promise.allSettled([tracing.shutdown(), metering.shutdown()]);
    },
  };
}

function createSpans(provider: BasicTracerProvider, clock: Pick<Clock, 'now'>) {
  const tracer = provider.getTracer('gw', VERSION);
  return (record: RequestRecord): void => {
    // The time in an id is ahead of the clock if the clock was set back.
    const startTime = Math.min(timeOfRequestId(record.id), clock.now() - record.durationMs);
    const name = `${operationOf(record)} ${record.askedModel}`;
    const attributes = spanAttributes(record);
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, parentOf(record));
    if (record.outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(startTime + record.durationMs);
  };
}

const propagator = new W3CTraceContextPropagator();

/** The client's span; none if its header is malformed. A span that isn't sampled has no sampled children. */
function parentOf({ trace }: RequestRecord): Context {
  return trace === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, trace, defaultTextMapGetter);
}

/** https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-spans.md */
function spanAttributes(record: RequestRecord): Attributes {
  const { usage, session, upstreamMessageId } = record;
  const attributes: Attributes = {
    // Required. If gw chose no provider, gw itself answered.
    'gen_ai.provider.name': 'gw',
    ...served(record),
    'gen_ai.request.model': record.askedModel,
    'http.response.status_code': record.status,
    'gw.request.id': formatRequestId(record.id),
    'gw.outcome': record.outcome,
    'gw.cost.usd': record.costNanoUsd / 1e9,
    'gw.cost.estimated': (record.flags & FLAGS.estimated) !== 0,
    'gw.not_billed': (record.flags & FLAGS.not_billed) !== 0,
  };
  if (usage.inputTokens > 0 || usage.outputTokens > 0) {
    attributes['gen_ai.usage.input_tokens'] = usage.inputTokens;
    attributes['gen_ai.usage.output_tokens'] = usage.outputTokens;
    attributes['gen_ai.usage.cache_read.input_tokens'] = usage.cachedInputTokens;
    attributes['gen_ai.usage.cache_creation.input_tokens'] =
      usage.cacheWriteTokens + usage.cacheWrite1hTokens;
    if (usage.reasoningTokens > 0) attributes['gen_ai.usage.reasoning.output_tokens'] = usage.reasoningTokens;
  }
  if (record.flags & FLAGS.stream) attributes['gen_ai.request.stream'] = true;
  const firstChunkMs = firstChunkOf(record);
  if (firstChunkMs !== undefined) attributes['gen_ai.response.time_to_first_chunk'] = firstChunkMs / 1000;
  if (upstreamMessageId !== undefined) attributes['gen_ai.response.id'] = upstreamMessageId;
  if (session !== undefined) attributes['gen_ai.conversation.id'] = session;
  return attributes;
}

/** Milliseconds until the first chunk of a stream; undefined for other answers and for errors. */
function firstChunkOf({ flags, status, firstByteMs }: RequestRecord): number | undefined {
  return flags & FLAGS.stream && status < 300 && firstByteMs !== null ? firstByteMs : undefined;
}

function createInstruments(provider: MeterProvider): (record: RequestRecord) => void {
  const meter = provider.getMeter('gw', VERSION);
  const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
  const durations = histogram(
    'gen_ai.client.operation.duration',
    's',
    'Time from the request to the end of its answer.',
    SECONDS,
  );
  const firstChunks = histogram(
    'gen_ai.client.operation.time_to_first_chunk',
    's',
    'Time from the request to the first chunk of its stream.',
    SECONDS,
  );
  const tokens = histogram('gen_ai.client.token.usage', '{token}', 'Billed tokens of a request.', TOKENS);
  const cost = meter.createCounter('gw.cost.usd', {
    unit: '{USD}',
    description: 'Cost of requests in US dollars, without those that a subscription covers.',
  });
  return (record) => {
    // The model of a request that was never sent is the client's text, and each would become a series.
    if (record.provider === '' || record.outcome === 'blocked') return;
    const { usage } = record;
    const attributes = { ...served(record), 'gen_ai.request.model': record.model };
    durations.record(record.durationMs / 1000, attributes);
    const firstChunkMs = firstChunkOf(record);
    if (firstChunkMs !== undefined) firstChunks.record(firstChunkMs / 1000, attributes);
    if (usage.inputTokens > 0)
      tokens.record(usage.inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    if (usage.outputTokens > 0)
      tokens.record(usage.outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    if (record.costNanoUsd > 0 && !(record.flags & FLAGS.not_billed))
      cost.add(record.costNanoUsd / 1e9, attributes);
  };
}

/** Attributes of spans and metrics: the provider and model that served a request, and its error. */
function served(record: RequestRecord): Attributes {
  const { provider, model, outcome, status } = record;
  const attributes: Attributes = { 'gen_ai.operation.name': operationOf(record) };
  if (provider !== '') attributes['gen_ai.provider.name'] = PROVIDERS[provider] ?? provider;
  if (outcome === 'ok') attributes['gen_ai.response.model'] = model;
  else attributes['error.type'] = outcome === 'upstream_error' ? String(status) : outcome;
  return attributes;
}

const operationOf = ({ endpoint }: RequestRecord): string => OPERATIONS[endpoint] ?? endpoint;

/** Wraps an exporter to report each result to the watch. */
function watched<
  T extends { export(items: never, done: (result: { code: number; error?: Error }) => void): void },
>(exporter: T, signal: string, watch: ExportWatch): T {
  const send: T['export'] = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code === 0) watch.succeeded(signal);
      else watch.failed(signal, result.error);
      done(result);
    });
  return exporter;
}
