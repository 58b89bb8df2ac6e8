import { expect, onTestFinished, test } from 'vitest';
import type { Json } from '../../src/translation/json.ts';
import { startGateway } from '../support/gateway.ts';
import { json, type Script } from '../support/scripts.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { send } from '../wire/support/send.ts';
import { AGENTS } from './clients.ts';
import { HOSTS, type Host } from './hosts.ts';
import { type Seen, strictProvider, TURNS } from './providers/strict.ts';

const hostOf = (name: string) => HOSTS.find((host) => host.name === name) as Host;

/** A gateway's options for strict providers, each at its own path of an upstream. */
function providersAt(
  upstream: Upstream,
  names: readonly string[],
  wrap: (name: string, script: Script) => Script = (_, script) => script,
) {
  const { origin } = new URL(upstream.url);
  const started = names.map((name) => [name, strictProvider(hostOf(name).apis())] as const);
  const scripts = new Map(started.map(([name, { script }]) => [name, wrap(name, script)]));
  upstream.script(async (exchange) => {
    await scripts.get(exchange.request.path.split('/')[1] ?? '')?.(exchange);
  });
  const seen = Object.fromEntries(started.map(([name, each]) => [name, each.seen])) as Record<string, Seen>;
  const providers = Object.fromEntries(names.map((name) => [name, { baseUrl: `${origin}/${name}/v1` }]));
  const credentials = Object.fromEntries(names.map((name) => [name, 'provider-key']));
  return { seen, providers, credentials };
}

const modelOf = (name: string) => `${name}/${hostOf(name).model}`;

test.each([
  ['deepseek', 'mistral'],
  ['openai', 'anthropic'],
  ['anthropic', 'google'],
  ['google', 'deepseek'],
  ['openrouter', 'openai'],
])('a session fails over from %s to %s in the middle of its loop', async (first, second) => {
  for (const agent of AGENTS) {
    const upstream = await startUpstream();
    let calls = 0;
    const { seen, providers, credentials } = providersAt(
      upstream,
      [first, second],
      (name, script) => async (exchange) => {
        if (name === first && ++calls > 3) await json(503, { error: { message: 'overloaded' } })(exchange);
        else await script(exchange);
      },
    );
    const settings = { providers, aliases: { pair: `${modelOf(first)},${modelOf(second)}` } };
    const gateway = await startGateway({ upstream, settings, credentials });
    const run = agent.run({ url: gateway.url, key: gateway.key, modelOf: () => 'pair', stream: true });
    expect((await run).calls).toHaveLength(2 * TURNS);
    expect({ agent: agent.name, faults: [seen[first]?.faults, faultsOf(seen[second])] }).toEqual({
      agent: agent.name,
      faults: [[], []],
    });
    expect(seen[second]?.billed.length).toBeGreaterThan(2);
    await gateway.stop();
    await upstream.close();
  }
});

test.each(['deepseek', 'google'])(
  'a client that keeps ids alone goes on at %s after a restart of gw',
  async (name) => {
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const { seen, providers, credentials } = providersAt(upstream, [name]);
    const options = { upstream, settings: { providers }, credentials };
    const gateway = await startGateway(options);
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
    ];
    const messages: Json[] = [{ role: 'user', content: 'Go' }];
    const ask = async (to: typeof gateway) => {
      const response = await send(to, '/v1/chat/completions', { model: modelOf(name), messages, tools });
      expect(response.status).toBe(200);
      const { message } = JSON.parse(response.text()).choices[0];
      const tool_calls = message.tool_calls.map(({ id, type, function: fn }: Json) => ({
        id,
        type,
        function: fn,
      }));
      messages.push({ role: 'assistant', content: null, tool_calls });
      messages.push(
        ...tool_calls.map(({ id }: Json) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
      );
    };
    await ask(gateway);
    await gateway.stop();
    const again = await startGateway({ ...options, home: gateway.paths.home });
    await ask(again);
    expect(seen[name]?.faults).toEqual([]);
    const sent = JSON.stringify(seen[name]?.requests[1]);
    expect(sent).toContain(
      name === 'google' ? '"thought_signature":"signature 0"' : '"reasoning_content":"Thought 0 of 0"',
    );
  },
);

/** Without the one by which a provider asks for reasoning that another's calls don't have. */
const faultsOf = (seen: Seen | undefined) =>
  seen?.faults.filter((fault) => !/must be passed back/.test(fault));

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('an image reaches every provider, from every client', async () => {
  const names = HOSTS.map(({ name }) => name);
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const { seen, providers, credentials } = providersAt(upstream, names);
  const gateway = await startGateway({ upstream, settings: { providers }, credentials });
  const url = `data:image/png;base64,${PNG}`;
  for (const name of names) {
    const model = modelOf(name);
    const bodies: [string, object][] = [
      [
        '/v1/chat/completions',
        {
          model,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'See' },
                { type: 'image_url', image_url: { url } },
              ],
            },
          ],
        },
      ],
      [
        '/v1/messages',
        {
          model,
          max_tokens: 50,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
                { type: 'text', text: 'See' },
              ],
            },
          ],
        },
      ],
      [
        '/v1/responses',
        {
          model,
          store: false,
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: 'See' },
                { type: 'input_image', image_url: url, detail: 'auto' },
              ],
            },
          ],
        },
      ],
    ];
    for (const [path, body] of bodies)
      expect({ name, path, status: (await send(gateway, path, body)).status }).toMatchObject({ status: 200 });
    expect({ name, faults: seen[name]?.faults }).toEqual({ name, faults: [] });
    expect(seen[name]?.requests.map((request) => JSON.stringify(request).includes(PNG))).toEqual([
      true,
      true,
      true,
    ]);
  }
});

test('what one provider has sealed reaches no other, no record and no log', async () => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const names = ['openai', 'anthropic', 'google', 'deepseek'];
  const { seen, providers, credentials } = providersAt(upstream, names);
  const gateway = await startGateway({ upstream, settings: { providers }, credentials });
  for (const agent of AGENTS)
    for (const order of [names, names.toReversed()]) {
      const inTurn = (turn: number) => modelOf(order[turn % order.length] ?? '');
      await agent.run({ url: gateway.url, key: gateway.key, modelOf: inTurn, stream: false });
    }
  const canaries: Record<string, RegExp> = {
    openai: /sealed Thought/,
    anthropic: /signature of Thought/,
    google: /thought_signature":"signature \d/,
    deepseek: /reasoning_content":"Thought/,
  };
  for (const name of names)
    for (const [owner, canary] of Object.entries(canaries)) {
      const found = seen[name]?.requests.some((request) => canary.test(JSON.stringify(request)));
      expect({ name, owner, found }).toEqual({ name, owner, found: name === owner });
    }
  const records = JSON.stringify(await gateway.records());
  const logs = JSON.stringify(gateway.logged);
  for (const canary of [...Object.values(canaries), /gw1\./]) {
    expect(records).not.toMatch(canary);
    expect(logs).not.toMatch(canary);
  }
});
