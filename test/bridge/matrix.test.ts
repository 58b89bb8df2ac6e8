import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { AGENTS, type Agent } from './clients.ts';
import { CLOUD_HOSTS, type CloudHost } from './cloud-hosts.ts';
import { HOSTS, type Host } from './hosts.ts';
import { type Seen, strictProvider, TURNS } from './providers/strict.ts';

/** Turns with calls in each loop: all under npm run test:long. */
const LOOP = process.env.GW_LONG ? TURNS : 3;

/** A gateway before strict providers, each at its own path of one upstream. */
async function start(
  hosts: readonly (Host | CloudHost)[],
): Promise<{ gateway: TestGateway; seen: Record<string, Seen> }> {
  const upstream = await startUpstream();
  const providers = hosts.map(({ name, apis }) => [name, strictProvider(apis(), LOOP)] as const);
  const byName = new Map(providers);
  upstream.script(async (exchange) => {
    const name = exchange.request.path.split('/')[1] ?? '';
    // Foundry has a path of its own at the host of Azure.
    await (byName.get(name) ?? providers[0]?.[1])?.script(exchange);
  });
  const { origin } = new URL(upstream.url);
  const configured = Object.fromEntries(
    hosts.map((host) => {
      const { path, ...settings } = 'path' in host ? { ...host.settings, path: host.path } : { path: '/v1' };
      return [host.name, { ...settings, baseUrl: `${origin}/${host.name}${path}` }];
    }),
  );
  const credentials = Object.fromEntries(hosts.map(({ name }) => [name, 'provider-key']));
  const gateway = await startGateway({ upstream, settings: { providers: configured }, credentials });
  return { gateway, seen: Object.fromEntries(providers.map(([name, { seen }]) => [name, seen])) };
}

/** The calls that a strict provider makes in a loop, as the client names its tools. */
const expectedCalls = (tools: readonly string[]) =>
  Array.from({ length: LOOP }, (_, turn) => [
    { name: tools[0], args: { turn, text: 'a "quoted" ü' } },
    { name: tools[1], args: { turn: turn + 100 } },
  ]).flat();

const toolsOf = ({ tool }: Agent) => [tool, 'read'];

const ALL: readonly (Host | CloudHost)[] = [...HOSTS, ...CLOUD_HOSTS];

/** A cloud has an API of above in an envelope, so that one agent is enough: npm run test:long has all. */
const agentsAt = (host: Host | CloudHost): readonly Agent[] =>
  'settings' in host && !process.env.GW_LONG
    ? [AGENTS[ALL.indexOf(host) % AGENTS.length] as Agent]
    : AGENTS.filter(({ name }) => name !== 'chat' || !host.breaksChatLibrary);

describe.each(ALL)('at $name', (host) => {
  const cells = agentsAt(host).flatMap((agent) =>
    [true, false].map((stream) => ({ agent, stream, client: agent.name })),
  );

  test.each(cells)('a loop of tools, from $client (stream: $stream)', async ({ agent, stream }) => {
    const { gateway, seen } = await start([host]);
    const { url, key } = gateway;
    const modelOf = () => `${host.name}/${host.model}`;
    const { calls, text } = await agent.run({ url, key, modelOf, stream });
    const { faults, billed } = seen[host.name] as Seen;
    expect(faults).toEqual([]);
    expect(calls).toEqual(expectedCalls(toolsOf(agent)));
    expect(text).toBe(`All done after ${2 * LOOP} results`);
    const records = await gateway.settled(billed.length);
    expect(
      records.map(({ inputTokens, outputTokens }) => ({ input: inputTokens, output: outputTokens })),
    ).toEqual(billed);
    expect(records.flatMap(({ flags }) => flags).filter((flag) => flag === 'estimated')).toEqual([]);
  });
});

describe('a session that changes its provider in the middle', () => {
  // Each pair with one agent; npm run test:long has each with all.
  const agentsOf = (n: number) => (process.env.GW_LONG ? AGENTS : [AGENTS[n % AGENTS.length] as Agent]);
  const pairs = ['deepseek', 'google', 'gemini', 'openai', 'anthropic', 'mistral', 'openrouter'].flatMap(
    (first, i, all) => all.slice(i + 1).map((second, j) => ({ first, second, agents: agentsOf(i + j) })),
  );
  const hostOf = (name: string) => HOSTS.find((host) => host.name === name) as Host;

  test.each(pairs)('$first and $second', async ({ first, second, agents }) => {
    const hosts = [hostOf(first), hostOf(second)];
    for (const agent of agents) {
      const { gateway, seen } = await start(hosts);
      const modelOf = (turn: number) => {
        const host = hosts[turn % 2] as Host;
        return `${host.name}/${host.model}`;
      };
      const { calls } = await agent.run({ url: gateway.url, key: gateway.key, modelOf, stream: true });
      expect({ agent: agent.name, faults: [seen[first]?.faults, seen[second]?.faults] }).toEqual({
        agent: agent.name,
        faults: [[], []],
      });
      expect(calls).toHaveLength(2 * LOOP);
      await gateway.stop();
    }
  });
});

test.each(['mistral', 'google', 'zai'])(
  'the strict provider refuses what it gets without its dialect: %s',
  async (name) => {
    const host = HOSTS.find((each) => each.name === name) as Host;
    const { gateway, seen } = await start([{ ...host, name: 'unknown' }]);
    const [agent] = AGENTS;
    const modelOf = () => `unknown/${host.model}`;
    await agent?.run({ url: gateway.url, key: gateway.key, modelOf, stream: false }).catch(() => {});
    expect(seen.unknown?.faults).not.toEqual([]);
  },
);

/** The cells of this file, which docs/providers.md shows. */
function matrixTable(): string {
  const rows = ALL.map(({ name, breaksChatLibrary }) => {
    const cells = AGENTS.map((agent) => (agent.name === 'chat' && breaksChatLibrary ? 'library' : 'works'));
    return `| ${[name, ...cells].join(' | ')} |`;
  });
  const header = `| provider | ${AGENTS.map(({ name }) => name).join(' | ')} |`;
  return [header, `|---|${AGENTS.map(() => '---|').join('')}`, ...rows].join('\n');
}

test('docs/providers.md has the matrix of this file', () => {
  const path = new URL('../../docs/providers.md', import.meta.url);
  const docs = readFileSync(path, 'utf8');
  const before = /^(?:MATRIX|\| provider \|[\s\S]*?\n)(?=\n)/m;
  if (process.env.GW_WRITE_DOCS) writeFileSync(path, docs.replace(before, `${matrixTable()}\n`));
  expect(readFileSync(path, 'utf8')).toContain(matrixTable());
});
