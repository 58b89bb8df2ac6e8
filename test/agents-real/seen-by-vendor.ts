import type { RecordedRequest } from '../support/exchange.ts';

/** Headers of the connection, of who pays, and of ids that are new for each run. */
const OWN = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-length', 'host', 'x-api-key'],
]);

/** What differs from run to run: folders, ids, hashes, moments. */
function withoutChance(text: string, home: string): string {
  return text
    .replaceAll(home, 'HOME')
    .replaceAll(home.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'HOME')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\bses_\w+/g, 'ID')
    .replaceAll(/\b[0-9a-f]{32,}\b/g, 'HASH')
    .replaceAll(/cch=[0-9a-f]+|(?<=cc_version=[\d.]+\.)[0-9a-f]+/g, 'HASH')
    .replaceAll(/Chunk ID: \w+|Wall time: [\d.]+ seconds/g, 'CHANCE')
    .replaceAll(/\b1[78]\d{8}(?:\d{3}|\.\d+)?\b/g, 'MOMENT')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT');
}

/** One request by the paths of what it says: `header accept`, `beta files-api-2025-04-14`, `body.tools[0].name`. */
function statements(request: RecordedRequest, home: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [header, value] of request.head.headers) {
    const name = header.toLowerCase();
    if (name === 'anthropic-beta') for (const beta of value.split(',')) found.set(`beta ${beta.trim()}`, '');
    else if (!OWN.has(name)) found.set(`header ${name}`, withoutChance(value, home));
  }
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) {
      found.set(path, withoutChance(JSON.stringify(value), home));
      return;
    }
    for (const [key, each] of Object.entries(value))
      walk(each, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
  };
  walk(JSON.parse(request.body.toString()), 'body');
  return found;
}

/** An agent's requests for answers, in an order of their own: some agents ask for a title at the same time. */
function answersAsked(requests: readonly RecordedRequest[]): RecordedRequest[] {
  const asked = requests.filter(({ method, path }) => method === 'POST' && path.startsWith('/v1/'));
  const sizeOf = ({ body }: RecordedRequest) => {
    const { model, tools, messages, input } = JSON.parse(body.toString());
    return `${model} ${tools?.length ?? 0} ${String((messages ?? input).length).padStart(4, '0')}`;
  };
  return asked.sort((a, b) => (sizeOf(a) < sizeOf(b) ? -1 : 1));
}

/** The requests of one run of an agent, and the folder that it ran in. */
export interface Run {
  requests: readonly RecordedRequest[];
  home: string;
}

/**
 * How an agent's requests differ, sorted: `- beta X` is missing in the second run, `+ header Y` is new in it, and
 * `~ body.system[0].text` has another value. Each is named once, however many requests it concerns.
 */
export function differences(first: Run, second: Run): string[] {
  const found = new Set<string>();
  const [before, after] = [answersAsked(first.requests), answersAsked(second.requests)];
  if (before.length !== after.length) found.add(`~ ${before.length} requests became ${after.length}`);
  for (const [index, request] of before.entries()) {
    const other = after[index];
    if (!other) continue;
    const [own, others] = [statements(request, first.home), statements(other, second.home)];
    if (request.path !== other.path) found.add(`~ path ${request.path} became ${other.path}`);
    for (const [path, value] of own) {
      if (!others.has(path)) found.add(`- ${path}`);
      else if (others.get(path) !== value) found.add(`~ ${path}`);
    }
    for (const path of others.keys()) if (!own.has(path)) found.add(`+ ${path}`);
  }
  return [...found].sort();
}
