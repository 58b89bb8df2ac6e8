import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { status } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';

type Value = Record<string, string | number | boolean>;
interface Attributed {
  attributes: { key: string; value: Value }[];
}
interface Span extends Attributed {
  name: string;
  kind: number;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number; message?: string };
}
interface Metric {
  name: string;
  unit: string;
  histogram?: { dataPoints: (Attributed & { count: number; sum: number; explicitBounds: number[] })[] };
  sum?: { dataPoints: (Attributed & { asDouble: number })[] };
}
interface Export {
  resourceSpans?: { resource: Attributed; scopeSpans: { spans: Span[] }[] }[];
  resourceMetrics?: { scopeMetrics: { metrics: Metric[] }[] }[];
}

/** A receiver of OTLP/HTTP with JSON. */
async function startCollector() {
  const received: { path: string; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ path: request.url ?? '', body });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const parsed = (path: string) =>
    received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body) as Export);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: () => parsed('/v1/traces').flatMap(({ resourceSpans = [] }) => resourceSpans),
    /** The last export, since its figures are cumulative. */
    metrics: () =>
      parsed('/v1/metrics')
        .at(-1)
        ?.resourceMetrics?.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)) ??
      [],
  };
}

function attributesOf({ attributes }: Attributed): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** What is loaded of the SDK. Clients that other tests load use the API alone, which does nothing by itself. */
const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    /@opentelemetry\/(sdk|exporter|otlp)/.test(file),
  );

describe('the export to OpenTelemetry', () => {
  // First in the file: what is loaded stays loaded.
  test('loads nothing and sends nothing while it is off, whatever the environment says', async () => {
    const collector = await startCollector();
    const gateway = await startGateway({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    gateway.upstream.queue(completion({ usage: usageOf(10, 2) }));
    await gateway.post(PLAIN);
    await gateway.settled(1);
    await gateway.stop();
    expect(loaded()).toEqual([]);
    expect(collector.received).toEqual([]);
  });

  test('sends spans and metrics in the GenAI conventions', async () => {
    const collector = await startCollector();
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd: 1 },
      settings: { 'metrics.otlp_endpoint': collector.url },
    });
    expect(loaded().length).toBeGreaterThan(0);
    gateway.upstream.queue(completion({ usage: usageOf(1_000, 10) }));
    await gateway.post({ ...PLAIN, messages: [{ role: 'user', content: 'the secret prompt' }] });
    gateway.upstream.queue(sse(['a', 'b'], { usage: usageOf(500, 2) }));
    await gateway.post(STREAM);
    gateway.upstream.queue(status(400));
    await gateway.post(PLAIN);
    await gateway.setBudget({ period: 'daily', capUsd: 0.001 });
    expect((await gateway.post(PLAIN)).status).toBe(402);
    const records = await gateway.settled(4);
    await gateway.stop();

    const resources = collector.spans();
    expect(attributesOf(resources[0]?.resource as Attributed)).toMatchObject({ 'service.name': 'gw' });
    const spans = resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap((each) => each.spans));
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual(Array(4).fill(['chat mock/test-model', 3]));
    const [plain, stream, failed, blocked] = spans.map(attributesOf);
    expect(plain).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mock',
      'gen_ai.request.model': 'mock/test-model',
      'gen_ai.response.model': 'test-model',
      'gen_ai.usage.input_tokens': 1_000,
      'gen_ai.usage.output_tokens': 10,
      'http.response.status_code': 200,
      'gw.outcome': 'ok',
    });
    expect(stream).toMatchObject({ 'gen_ai.usage.input_tokens': 500, 'gen_ai.usage.output_tokens': 2 });
    const spent = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0) / 1e9;
    expect(Number(plain?.['gw.cost.usd']) + Number(stream?.['gw.cost.usd'])).toBeCloseTo(spent, 12);
    expect(failed).toMatchObject({ 'error.type': '400', 'http.response.status_code': 400 });
    expect(blocked).toMatchObject({ 'error.type': 'blocked', 'http.response.status_code': 402 });
    expect(spans.map((span) => span.status.code)).toEqual([0, 0, 2, 2]);
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano));

    const metrics = new Map(collector.metrics().map((metric) => [metric.name, metric]));
    const durations = metrics.get('gen_ai.client.operation.duration');
    expect(durations?.unit).toBe('s');
    expect(durations?.histogram?.dataPoints.map(({ count }) => count)).toEqual([2, 1]);
    const tokens = metrics.get('gen_ai.client.token.usage')?.histogram?.dataPoints ?? [];
    expect(tokens[0]?.explicitBounds.slice(0, 4)).toEqual([1, 4, 16, 64]);
    expect(tokens.map((point) => [attributesOf(point)['gen_ai.token.type'], point.sum])).toEqual([
      ['input', 1_500],
      ['output', 12],
    ]);
    expect(metrics.get('gw.cost.usd')?.sum?.dataPoints[0]?.asDouble).toBeCloseTo(spent, 12);
    expect(JSON.stringify(collector.received)).not.toMatch(/secret prompt|sk-gw|\/tmp/);
  });

  test('says once that the collector refuses, and serves on', async () => {
    const refusing = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void refusing.close());
    const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
    const gateway = await startGateway({ settings: { 'metrics.otlp_endpoint': url } });
    gateway.upstream.queue(completion({ usage: usageOf(10, 2) }));
    expect((await gateway.post(PLAIN)).status).toBe(200);
    await gateway.settled(1);
    // Its end sends spans and metrics: two failures, one line.
    await gateway.daemon.stop();
    await until(() => gateway.logged.some(({ msg }) => String(msg).includes(url)));
    const lines = gateway.logged.filter(({ msg }) => String(msg).includes('not reaching'));
    expect(lines.map(({ msg }) => String(msg))).toEqual([
      expect.stringContaining('gw config unset metrics.otlp_endpoint'),
    ]);
  });
});
