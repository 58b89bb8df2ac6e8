import { type Attributes, ROOT_CONTEXT, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { formatRequestId, timeOfRequestId } from '../ids.ts';
import { FLAGS, type RequestRecord } from '../store/ledger/record.ts';
import { VERSION } from '../version.ts';

export interface ExportOptions {
  endpoint: string;
  instanceId: string;
  warn: (message: string) => void;
}

/** Takes records and sends them to a collector in batches. */
export interface OtlpExport {
  observe(record: RequestRecord): void;
  /** Sends what is left. */
  shutdown(): Promise<void>;
}

/** Buckets of the conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Values of `gen_ai.operation.name`, by endpoint; other endpoints go by their own name. */
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
  xai: 'x_ai',
};

/**
 * Exports records as spans and metrics of the GenAI conventions, by OTLP over HTTP. The SDK reads headers, timeouts,
 * certificates, sampling and queue sizes from the standard OTEL_* variables; its queue of spans is bounded, and drops
 * what is newest once it is full. Nothing of a prompt or an answer is in a record.
 */
export function createExport({ endpoint, instanceId, warn }: ExportOptions): OtlpExport {
  const resource = resourceFromAttributes({
    'service.name': 'gw',
    'service.version': VERSION,
    'service.instance.id': instanceId,
  }).merge(detectResources({ detectors: [envDetector] }));
  const base = endpoint.endsWith('/') ? endpoint.slice(0, -1) : endpoint;
  const report = createReport(base, warn);
  const tracing = new BasicTracerProvider({
    resource,
    spanProcessors: [
      new BatchSpanProcessor(reported(new OTLPTraceExporter({ url: `${base}/v1/traces` }), report)),
    ],
  });
  const metering = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: reported(new OTLPMetricExporter({ url: `${base}/v1/metrics` }), report),
      }),
    ],
  });
  const addSpan = createSpans(tracing);
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

function createSpans(provider: BasicTracerProvider): (record: RequestRecord) => void {
  const tracer = provider.getTracer('gw', VERSION);
  return (record) => {
    const { usage, session, upstreamMessageId } = record;
    const startTime = timeOfRequestId(record.id);
    const attributes: Attributes = {
      ...served(record),
      'gen_ai.request.model': record.askedModel,
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      'http.response.status_code': record.status,
      'gw.request.id': formatRequestId(record.id),
      'gw.outcome': record.outcome,
      'gw.cost.usd': record.costNanoUsd / 1e9,
      'gw.cost.estimated': (record.flags & FLAGS.estimated) !== 0,
      'gw.not_billed': (record.flags & FLAGS.not_billed) !== 0,
    };
    if (upstreamMessageId !== undefined) attributes['gen_ai.response.id'] = upstreamMessageId;
    if (session !== undefined) attributes['gen_ai.conversation.id'] = session;
    const name = `${operationOf(record)} ${record.askedModel}`;
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, ROOT_CONTEXT);
    if (record.outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(startTime + record.durationMs);
  };
}

function createInstruments(provider: MeterProvider): (record: RequestRecord) => void {
  const meter = provider.getMeter('gw', VERSION);
  const durations = meter.createHistogram('gen_ai.client.operation.duration', {
    unit: 's',
    description: 'Time from the request to the end of its answer.',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  const tokens = meter.createHistogram('gen_ai.client.token.usage', {
    unit: '{token}',
    description: 'Billed tokens of a request.',
    advice: { explicitBucketBoundaries: TOKENS },
  });
  const cost = meter.createCounter('gw.cost.usd', {
    unit: '{USD}',
    description: 'Cost of requests in US dollars, without those that a subscription covers.',
  });
  return (record) => {
    // What was never sent names whatever model the client wrote, and would make a series of each.
    if (record.provider === '' || record.outcome === 'blocked') return;
    const { usage } = record;
    const attributes = { ...served(record), 'gen_ai.request.model': record.model };
    durations.record(record.durationMs / 1000, attributes);
    if (usage.inputTokens > 0)
      tokens.record(usage.inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    if (usage.outputTokens > 0)
      tokens.record(usage.outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    if (record.costNanoUsd > 0 && !(record.flags & FLAGS.not_billed))
      cost.add(record.costNanoUsd / 1e9, attributes);
  };
}

/** What spans and metrics say of who served a request, and of its error. */
function served(record: RequestRecord): Attributes {
  const { provider, model, outcome, status } = record;
  const attributes: Attributes = { 'gen_ai.operation.name': operationOf(record) };
  if (provider !== '') attributes['gen_ai.provider.name'] = PROVIDERS[provider] ?? provider;
  if (outcome === 'ok') attributes['gen_ai.response.model'] = model;
  else attributes['error.type'] = outcome === 'upstream_error' ? String(status) : outcome;
  return attributes;
}

function operationOf({ endpoint }: RequestRecord): string {
  return OPERATIONS[endpoint] ?? endpoint;
}

/** Warns of the first failure of an export after a success. */
function createReport(base: string, warn: (message: string) => void): (error: Error | undefined) => void {
  let isFailing = false;
  return (error) => {
    if (error && !isFailing)
      warn(
        `traces and metrics are not reaching ${base}: ${error.message}. Requests are not affected. To stop sending: gw config unset metrics.otlp_endpoint`,
      );
    isFailing = error !== undefined;
  };
}

/** The exporter, with each result reported. */
function reported<
  T extends { export(items: never, done: (result: { code: number; error?: Error }) => void): void },
>(exporter: T, report: (error: Error | undefined) => void): T {
  const send: T['export'] = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      report(result.code === 0 ? undefined : (result.error ?? new Error('the export failed')));
      done(result);
    });
  return exporter;
}
