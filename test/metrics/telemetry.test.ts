import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { requestIdAt } from '../../src/ids.ts';
import { createExportWatch } from '../../src/metrics/export-watch.ts';
import { startTelemetry } from '../../src/metrics/telemetry.ts';
import type { RequestRecord } from '../../src/store/ledger/record.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { deferred } from '../support/deferred.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { metricsExport, traceExport } from '../support/otlp-json.ts';
import { status } from '../support/scripts.ts';
import { recordOf } from '../support/simulator.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** What the conventions have published, as the official package has it, and one value that is newer than the package. */
const CONVENTIONS = new Set<unknown>([...Object.values(conventions), 'moonshot_ai']);
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

async function listen(onRequest: RequestListener): Promise<string> {
  const server = createServer(onRequest);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A receiver of OTLP/HTTP, which answers once `ready` resolves, and refuses what the definitions of OTLP don't allow. */
async function startCollector(ready?: Promise<void>) {
  const received: { path: string; body: string }[] = [];
  const url = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ path: request.url ?? '', body });
    await ready;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  const bodies = (path: string) =>
    received.filter((each) => each.path === path).map(({ body }): unknown => JSON.parse(body));
  const resources = () => bodies('/v1/traces').flatMap((body) => traceExport.parse(body).resourceSpans);
  return {
    url,
    received,
    resources,
    spans: () => resources().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    /** The last export, since its figures are cumulative. */
    metrics: () =>
      metricsExport
        .parse(bodies('/v1/metrics').at(-1))
        .resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)),
  };
}

/** What is loaded of the SDK, by this test or by one before it in the same process. */
const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    /@opentelemetry\/(core|sdk|exporter|otlp)/.test(file),
  );

/** How often this test imported the one module of gw that imports the SDK. */
const imports = vi.hoisted(() => ({ count: 0 }));
vi.mock('../../src/metrics/otlp-export.ts', async (importOriginal) => {
  imports.count++;
  return importOriginal();
});

/** Telemetry alone, with what hands records to it. */
async function startAlone(endpoint: string) {
  const clock = createVirtualClock();
  const lines: string[] = [];
  const log = {
    info: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line),
  };
  let listener: (records: readonly RequestRecord[]) => void = () => {};
  const ledger = {
    onRecords(added: typeof listener) {
      listener = added;
    },
  };
  const stop = await startTelemetry({ endpoint, instanceId: 'test', ledger, clock, log });
  return { clock, lines, stop, observe: (record: RequestRecord) => listener([record]) };
}

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331';

describe('the export to OpenTelemetry', () => {
  // First in the file: what is loaded stays loaded.
  test('loads nothing and sends nothing while it is off, whatever the environment says', async () => {
    const before = loaded();
    const collector = await startCollector();
    const gateway = await startGateway({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    gateway.upstream.queue(completion({ usage: usageOf(10, 2) }));
    await gateway.post(PLAIN, { headers: { traceparent: `${PARENT}-01` } });
    await gateway.settled(1);
    await gateway.stop();
    expect(imports.count).toBe(0);
    expect(loaded()).toEqual(before);
    expect(collector.received).toEqual([]);
  });

  test('sends spans and metrics in the GenAI conventions', async () => {
    const collector = await startCollector();
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd: 1 },
      settings: { 'metrics.otlp_endpoint': collector.url },
    });
    expect(imports.count).toBe(1);
    expect(loaded().length).toBeGreaterThan(0);
    gateway.upstream.queue(completion({ usage: usageOf(1_000, 10) }));
    await gateway.post({ ...PLAIN, messages: [{ role: 'user', content: 'the secret prompt' }] });
    gateway.upstream.queue(sse(['a', 'b'], { usage: usageOf(500, 2) }));
    await gateway.post(STREAM);
    gateway.upstream.queue(status(400));
    await gateway.post(STREAM);
    await gateway.setBudget({ period: 'daily', capUsd: 0.001 });
    expect((await gateway.post(PLAIN)).status).toBe(402);
    expect((await gateway.post({ ...PLAIN, model: 'no-such-model' })).status).toBe(404);
    const records = await gateway.settled(5);
    await gateway.stop();

    expect(collector.resources()[0]?.resource.attributes).toMatchObject({ 'service.name': 'gw' });
    const spans = collector.spans();
    const names = [...Array(4).fill('chat mock/test-model'), 'chat no-such-model'];
    expect(spans.map(({ name, kind, parentSpanId }) => [name, kind, parentSpanId])).toEqual(
      names.map((name) => [name, 3, undefined]),
    );
    const [plain, stream, failed, blocked, refused] = spans.map(({ attributes }) => attributes);
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
    expect(plain).not.toHaveProperty('gen_ai.request.stream');
    expect(plain).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
    expect(stream).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 500,
      'gen_ai.usage.output_tokens': 2,
    });
    const spent = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0) / 1e9;
    expect(Number(plain?.['gw.cost.usd']) + Number(stream?.['gw.cost.usd'])).toBeCloseTo(spent, 12);
    expect(failed).toMatchObject({ 'error.type': '400', 'http.response.status_code': 400 });
    expect(failed).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
    expect(blocked).toMatchObject({ 'error.type': 'blocked', 'http.response.status_code': 402 });
    expect(blocked).not.toHaveProperty('gen_ai.usage.input_tokens');
    expect(refused).toMatchObject({ 'error.type': 'refused', 'gen_ai.provider.name': 'gw' });
    expect(spans.map((span) => span.status.code)).toEqual([0, 0, 2, 2, 2]);
    for (const { startTimeUnixNano, endTimeUnixNano } of spans)
      expect(endTimeUnixNano).toBeGreaterThanOrEqual(startTimeUnixNano);

    const metrics = new Map(collector.metrics().map((metric) => [metric.name, metric]));
    const histogram = (name: string) => ({
      unit: metrics.get(name)?.unit,
      points: metrics.get(name)?.histogram?.dataPoints ?? [],
    });
    const durations = histogram('gen_ai.client.operation.duration');
    expect(durations.unit).toBe('s');
    expect(durations.points.map(({ count }) => count)).toEqual([2n, 1n]);
    const firstChunks = histogram('gen_ai.client.operation.time_to_first_chunk');
    expect(firstChunks.unit).toBe('s');
    expect(firstChunks.points.map(({ count, sum }) => [count, sum])).toEqual([
      [1n, stream?.['gen_ai.response.time_to_first_chunk']],
    ]);
    for (const { points } of [durations, firstChunks]) expect(points[0]?.explicitBounds).toEqual(SECONDS);
    const tokens = histogram('gen_ai.client.token.usage');
    expect(tokens.unit).toBe('{token}');
    expect(tokens.points[0]?.explicitBounds).toEqual(Array.from({ length: 14 }, (_, power) => 4 ** power));
    expect(tokens.points.map((point) => [point.attributes['gen_ai.token.type'], point.sum])).toEqual([
      ['input', 1_500],
      ['output', 12],
    ]);
    expect(metrics.get('gw.cost.usd')?.sum?.dataPoints[0]?.asDouble).toBeCloseTo(spent, 12);
    const points = [durations, firstChunks, tokens].flatMap((each) => each.points);
    const attributes = [...spans, ...points].flatMap((each) => Object.keys(each.attributes));
    const unpublished = [...attributes, ...metrics.keys()].filter((name) => !CONVENTIONS.has(name));
    expect(unpublished.filter((name) => !name.startsWith('gw.'))).toEqual([]);
    expect(JSON.stringify(collector.received)).not.toMatch(/secret prompt|sk-gw|\/tmp/);
  });

  test('names providers and operations as the conventions do', async () => {
    const collector = await startCollector();
    const { observe, stop } = await startAlone(collector.url);
    const providers = ['openai', 'anthropic', 'azure', 'google', 'groq', 'mistral', 'deepseek', 'xai'];
    providers.push('perplexity', 'cohere', 'moonshot');
    const endpoints = ['chat/completions', 'messages', 'responses', 'completions', 'embeddings'];
    const id = requestIdAt(Date.now());
    for (const provider of providers)
      for (const endpoint of endpoints) observe(recordOf(id, { provider, endpoint }));
    await stop();
    const values = collector
      .spans()
      .flatMap(({ attributes }) => [attributes['gen_ai.provider.name'], attributes['gen_ai.operation.name']]);
    expect(values).toHaveLength(2 * providers.length * endpoints.length);
    expect(values.filter((value) => !CONVENTIONS.has(value))).toEqual([]);
  });

  test("makes a request's span a child of the client's, which its provider never learns of", async () => {
    const collector = await startCollector();
    const gateway = await startGateway({ settings: { 'metrics.otlp_endpoint': collector.url } });
    const parents: [traceparent: string, tracestate?: string][] = [
      [`${PARENT}-01`, 'vendor=1,other=2'],
      // Its client decided not to sample: no span, but the metrics count it.
      [`${PARENT}-00`],
      // A later version may have more parts.
      [`cc-${PARENT.slice(3)}-01-more`],
      // Malformed: the span is a root.
      [`${PARENT}`],
      [`${PARENT.toUpperCase()}-01`],
      [`ff-${PARENT.slice(3)}-01`],
      [`${PARENT}-01-more`],
      ['00-00000000000000000000000000000000-b7ad6b7169203331-01'],
      ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
      [`${PARENT}-01, ${PARENT}-01`],
      ['x'.repeat(10_000)],
      // Only the state is bad.
      [`${PARENT}-01`, 'no state'],
      [`${PARENT}-01`, `long=${'x'.repeat(10_000)}`],
    ];
    for (const [traceparent, tracestate] of parents) {
      gateway.upstream.queue(completion({ usage: usageOf(10, 2) }));
      const headers = { traceparent, ...(tracestate ? { tracestate } : {}), baggage: 'user=alice' };
      expect((await gateway.post(PLAIN, { headers })).status).toBe(200);
    }
    await gateway.settled(parents.length);
    for (const { head } of gateway.upstream.requests)
      expect(JSON.stringify(head)).not.toMatch(/traceparent|tracestate|baggage|0af7651916cd/i);
    await gateway.stop();

    const child = [PARENT.slice(3, 35), PARENT.slice(36)];
    const spans = collector.spans();
    expect(spans).toHaveLength(parents.length - 1);
    const links = spans.map(({ traceId, parentSpanId }) => [traceId, parentSpanId]);
    expect([...links.slice(0, 2), ...links.slice(-2)]).toEqual([child, child, child, child]);
    for (const [traceId, parentSpanId] of links.slice(2, -2)) {
      expect(traceId).not.toBe(child[0]);
      expect(parentSpanId).toBeUndefined();
    }
    expect(spans[0]?.traceState).toBe('vendor=1,other=2');
    expect(spans.slice(-2).map(({ traceState }) => traceState ?? '')).toEqual(['', '']);
    const durations = collector.metrics().find(({ name }) => name === 'gen_ai.client.operation.duration');
    expect(durations?.histogram?.dataPoints.map(({ count }) => count)).toEqual([BigInt(parents.length)]);
  });

  test('says once that the collector refuses, and serves on', async () => {
    const url = await listen((_, response) => response.writeHead(404).end());
    const gateway = await startGateway({ settings: { 'metrics.otlp_endpoint': url } });
    gateway.upstream.queue(completion({ usage: usageOf(10, 2) }));
    expect((await gateway.post(PLAIN)).status).toBe(200);
    await gateway.settled(1);
    // Its end sends spans and metrics: two failures, one line.
    await gateway.daemon.stop();
    await until(() => gateway.logged.some(({ msg }) => String(msg).includes(url)));
    const lines = gateway.logged.filter(({ msg }) => String(msg).includes('not reaching'));
    expect(lines.map(({ msg }) => String(msg))).toEqual([
      expect.stringMatching(/404 Not Found.*gw config unset metrics\.otlp_endpoint/),
    ]);
  });

  test('names what a collector does wrong, and follows it nowhere', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const elsewhere = await startCollector();
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const faults: [url: string, reason: string][] = [
      [await listen((_, response) => response.writeHead(401).end()), '401 Unauthorized'],
      [
        await listen((_, response) =>
          response.writeHead(307, { location: `${elsewhere.url}/v1/traces` }).end(),
        ),
        '307 Temporary Redirect',
      ],
      [await listen((_, response) => response.writeHead(503).end()), 'retryable status'],
      [await listen(() => {}), 'Request timed out'],
      [await listen((request) => request.socket.destroy()), 'socket hang up'],
      [`http://127.0.0.1:${port}`, `connect ECONNREFUSED 127.0.0.1:${port}`],
    ];
    for (const [url, reason] of faults) {
      // Less than the SDK waits before it tries again; a status that it does not try again may take its time.
      vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', /^\d/.test(reason) ? '60000' : '500');
      const { lines, observe, stop } = await startAlone(url);
      observe(recordOf(requestIdAt(Date.now())));
      await stop();
      expect(lines).toEqual([expect.stringMatching(`not reaching ${url}: .*${reason}. Requests are not`)]);
    }
    expect(elsewhere.received).toEqual([]);
  });

  test('keeps a bounded number of spans for a collector that hangs, and does not wait for it at the end', async () => {
    const answering = deferred<void>();
    const collector = await startCollector(answering.promise);
    const { clock, observe, stop } = await startAlone(collector.url);
    const id = requestIdAt(Date.now());
    for (let i = 0; i < 10_000; i++) observe(recordOf(id + i));
    const stopped = stop();
    await clock.advance(1_000);
    await stopped;
    // A batch on its way, and a full queue.
    const spans = () =>
      collector.received.reduce((sum, { body }) => sum + (body.match(/"spanId"/g)?.length ?? 0), 0);
    await until(() => spans() >= 512 + 2_048);
    answering.resolve();
    expect(spans()).toBe(512 + 2_048);
  });

  test('logs one line for each change of state', () => {
    const lines: string[] = [];
    const log = {
      info: (line: string) => void lines.push(line),
      warn: (line: string) => void lines.push(line),
    };
    const watch = createExportWatch('http://collector', log);
    const down = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
    const missing = Object.assign(new Error('Not Found'), { code: 404 });
    const logs = (...expected: string[]) => {
      expect(lines.splice(0).map((line) => line.replace(/\. Requests .*/, ''))).toEqual(expected);
    };
    watch.succeeded('traces');
    logs();
    watch.failed('traces', down);
    watch.failed('metrics', down);
    watch.failed('traces', new Error('Request timed out'));
    logs('traces are not reaching http://collector: ECONNREFUSED');
    watch.failed('metrics', missing);
    watch.succeeded('traces');
    watch.succeeded('traces');
    logs('traces reach http://collector again; metrics still do not: 404 Not Found');
    watch.succeeded('metrics');
    logs('metrics reach http://collector again');
    watch.failed('metrics', missing);
    watch.failed('traces', down);
    logs(
      'metrics are not reaching http://collector: 404 Not Found',
      'traces are not reaching http://collector: ECONNREFUSED',
    );
  });
});
