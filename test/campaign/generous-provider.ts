import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { planOf } from '../fuzz/plans.ts';
import { type Bill, billOf, inputOf, KINDS, type Kind } from './bill.ts';
import { type Call, type Reading, readGenerously } from './generous-reading.ts';
import { baseName, PRICES } from './price-list.ts';

/** The header with a case's number, which gw passes on. */
export const CASE_HEADER = 'x-client-request-id';

/** What was charged for a case, and for what. */
export interface Charged {
  nanoUsd: number;
  /** Of that, what answers reported. */
  reportedNanoUsd: number;
  bills: (Bill & { kind: Kind; call: Call })[];
}

/** Providers of all kinds on one port, each below a path of its own, with a ledger that gw has no part in. */
export interface GenerousProvider {
  /** Base URLs, with their `/v1`. */
  urls: Readonly<Record<Kind, string>>;
  /** By case; what came without one is under the empty name. */
  ledger: Map<string, Charged>;
  close(): Promise<void>;
}

/** What a provider reads besides, which gw knows nothing of. */
export type ReadMore = (reading: Reading, call: Call) => void;

export async function startGenerousProvider(readMore?: ReadMore): Promise<GenerousProvider> {
  const ledger: GenerousProvider['ledger'] = new Map();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => response.destroy());
    request.on('end', () => answer(request, response, Buffer.concat(chunks)));
  });
  server.keepAliveTimeout = 60_000;

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { kind, call } = callOf(request, body);
    const reading = readGenerously(call);
    readMore?.(reading, call);
    if (reading.path === '/models' && reading.method === 'GET') {
      send(response, { object: 'list', data: Object.keys(PRICES).map((id) => ({ id, object: 'model' })) });
      return;
    }
    const bill = billOf(kind, reading);
    const name = String(request.headers[CASE_HEADER] ?? '');
    const charged = ledger.get(name) ?? { nanoUsd: 0, reportedNanoUsd: 0, bills: [] };
    charged.nanoUsd += bill.nanoUsd;
    charged.reportedNanoUsd += bill.reportedNanoUsd;
    charged.bills.push({ ...bill, kind, call });
    ledger.set(name, charged);
    const isPlain = bill.nanoUsd === 0 && !/completions|responses|messages|embeddings/.test(reading.path);
    if (/(count|input)_tokens$/.test(reading.path)) send(response, { input_tokens: inputOf(reading) });
    else if (isPlain) send(response, { id: `obj_${ledger.size}` });
    else generate(response, kind, reading, bill);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const urls = Object.fromEntries(KINDS.map((kind) => [kind, `http://127.0.0.1:${port}/${kind}/v1`]));
  return {
    urls: urls as Record<Kind, string>,
    ledger,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function callOf(request: IncomingMessage, body: Buffer): { kind: Kind; call: Call } {
  const { url = '', method = '', rawHeaders } = request;
  const [, kind = 'mock', rest = ''] = /^\/(\w+)(.*)$/s.exec(url) ?? [];
  const headers: Call['headers'] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers.push([(rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '']);
  return {
    kind: KINDS.find((each) => each === kind) ?? 'mock',
    call: { method, target: rest, headers, body },
  };
}

function send(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** An answer that reports all that it is billed by, and the model that gave it. */
function generate(response: ServerResponse, kind: Kind, { path, stream }: Reading, bill: Bill): void {
  const reported = { input: bill.inputTokens, output: bill.outputTokens };
  const { events, isStream } = planOf(path === '/responses/compact' ? '/responses' : path, stream, reported);
  const isUnknown =
    events.length === 1 && typeof events[0] === 'object' && 'data' in events[0] && !/embeddings$/.test(path);
  const values = events.map((event) => (typeof event === 'string' ? event : reportedIn(event, kind, bill)));
  if (!isStream) {
    send(
      response,
      isUnknown ? { model: baseName(bill.model), usage: usageOf(kind, bill, {}) } : (values[0] as object),
    );
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const value of values) {
    const type = typeof value === 'object' && 'type' in value ? `event: ${value.type}\n` : '';
    response.write(`${type}data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
  }
  response.end();
}

type Members = Record<string, unknown>;

function reportedIn(event: object, kind: Kind, bill: Bill): object {
  const copy = structuredClone(event) as Members;
  for (const part of [copy, copy.response, copy.message] as (Members | undefined)[]) {
    if (typeof part !== 'object') continue;
    if (part.model === 'm') part.model = baseName(bill.model);
    if (part.id === 'resp_1') part.id = `resp_${randomUUID()}`;
    if (part.usage) part.usage = usageOf(kind, bill, part.usage as Members);
    if (part.status === 'completed' && Array.isArray(part.output))
      for (const type of bill.toolCalls)
        part.output.push({ type: `${type}_call`, id: `ws_${part.output.length}`, status: 'completed' });
  }
  if (copy.type === 'message_delta') copy.usage = usageOf(kind, bill, copy.usage as Members);
  return copy;
}

function usageOf(
  kind: Kind,
  { inputTokens, outputTokens, toolCalls, nanoUsd }: Bill,
  usage: Members,
): Members {
  const searches = toolCalls.filter((type) => type === 'web_search').length;
  const tokens =
    Object.keys(usage).length > 0 ? usage : { prompt_tokens: inputTokens, completion_tokens: outputTokens };
  return {
    ...tokens,
    ...(kind === 'openrouter' ? { cost: nanoUsd / 1e9 } : {}),
    ...(searches > 0 ? { server_tool_use: { web_search_requests: searches } } : {}),
  };
}
