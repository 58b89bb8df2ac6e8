import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LimitUsageView, LimitWindowView } from '../../src/operations/schemas/limits.ts';
import { createPlanService } from '../support/plan-service.ts';
import type { Script } from '../support/scripts.ts';
import { type RealAgent, realAgent } from './agents.ts';
import { anyWire } from './any-wire.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const CLAIMS = {
  email: 'a@b.example',
  exp: 4_000_000_000,
  'https://api.openai.com/auth': {
    chatgpt_plan_type: 'pro',
    chatgpt_account_id: 'acc_1',
    chatgpt_user_id: 'u',
  },
};
const JWT = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(CLAIMS)}.${part({ signature: 1 })}`;
const OAT = `sk-ant-oat01-${'x7'.repeat(40)}-AA`;

interface Login {
  agent: RealAgent;
  authorization: string;
  files?: Record<string, unknown>;
  env?: Record<string, string>;
}

const LOGINS: readonly Login[] = [
  {
    agent: realAgent('codex'),
    authorization: `Bearer ${JWT}`,
    files: {
      '.codex/auth.json': {
        OPENAI_API_KEY: null,
        tokens: { id_token: JWT, access_token: JWT, refresh_token: 'rt', account_id: 'acc_1' },
        last_refresh: new Date().toISOString(),
      },
    },
  },
  {
    agent: realAgent('claude'),
    authorization: `Bearer ${OAT}`,
    env: { CLAUDE_CODE_OAUTH_TOKEN: OAT },
  },
];

/** The agent with a made-up login, in a home of its own. */
function stageWith({ agent, files = {}, env = {} }: Login) {
  const own = { ...agent, files: () => files, env: { ...agent.env, ...env } };
  return stageFor(own, { 'passthrough.subscriptions': 'allow' });
}

test.each(LOGINS)("gw run --subscription: $agent.name's login goes out as it is", async (login) => {
  const { path, gateway, proxy, home, env } = await stageWith(login);
  const words = [GW, 'run', ...IN_PROJECT, '--subscription', '--', path, ...login.agent.args];
  const output = await start(process.execPath, words, env, home).output;
  expect(output).toContain('Hello you');
  await expectCovered(gateway, login, 1);
  expect(proxy.seen.filter((request) => /api\.(openai|anthropic)\.com/.test(request))).toEqual([]);
});

test.each(LOGINS)(
  'gw connect --subscription $agent.name: proven on a model of gw, then the login goes out',
  async (login) => {
    const { path, gateway, home, env } = await stageWith(login);
    const {
      OPENAI_API_KEY: _o,
      ANTHROPIC_API_KEY: _a,
      ANTHROPIC_BASE_URL: _b,
      OPENAI_BASE_URL: _u,
      ...plain
    } = env;
    const own = { ...plain, NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
    const PATH = `${path.slice(0, path.lastIndexOf('/'))}:${process.env.PATH}`;
    const connect = [GW, 'connect', login.agent.name, '--subscription', '--yes'];
    const said = await start(process.execPath, connect, { ...own, PATH }, home).output;
    expect(said).toContain('its request came through gw');
    const before = await gateway.records();
    expect(before.every(({ provider }) => provider === 'sandbox')).toBe(true);
    const inHome = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', path, ...login.agent.args];
    expect(await start('/bin/sh', inHome, own, home).output).toContain('Hello you');
    await expectCovered(gateway, login, before.length + 1);
  },
);

/** Adds the limit headers of a plan to each answer. */
function withLimits(headers: () => Record<string, string>): Script {
  return (exchange) => {
    const { send, start } = exchange;
    return anyWire(
      Object.assign(exchange, {
        send: (status: number, own: Record<string, string>, body: Buffer | string) =>
          send.call(exchange, status, { ...own, ...headers() }, body),
        start: (status: number, own: Record<string, string> = {}) =>
          start.call(exchange, status, { ...own, ...headers() }),
      }),
    );
  };
}

test.each(LOGINS)(
  "the windows of $agent.name's plan are known, whose they were, and guarded",
  async (login) => {
    const { path, gateway, home, env } = await stageWith(login);
    const kind = login.agent.name === 'codex' ? 'chatgpt' : 'claude';
    const plan = createPlanService({ clock: { now: Date.now }, kind, weights: {} });
    gateway.upstream.script(withLimits(() => plan.headers()));
    const gw = async (...words: string[]) => start(process.execPath, [GW, ...words], env, home).output;
    const ask = () => gw('run', ...IN_PROJECT, '--subscription', '--', path, ...login.agent.args);
    expect(await ask()).toContain('Hello you');
    plan.spendElsewhere(0.8);
    expect(await ask()).toContain('Hello you');
    const windows = JSON.parse(await gw('limits', '--json')) as LimitWindowView[];
    expect(windows.map(({ window, used }) => [window, used])).toEqual([
      ['5h', 0.8],
      ['7d', 0.08],
    ]);
    const { data } = JSON.parse(await gw('limits', '-g', 'session', '--json')) as LimitUsageView;
    expect(data.length).toBeGreaterThan(1);
    expect(data.every(({ key }) => key !== null)).toBe(true);
    expect(await gw('statusline')).toContain('5h 80%');
    await gw('limits', 'guard', '--keep', '20%', '--for', 'session:none');
    const sent = gateway.upstream.requests.length;
    // The agent shows gw's sentence, and does not ask again.
    expect(await ask()).toContain('80% of the 5h window is used');
    expect(gateway.upstream.requests.length).toBe(sent);
  },
);

/** Claude Code tells the figure from 90 % on. */
const USED = 0.92;

/** What the agent itself knows of its limits after a question: Codex by its log, Claude Code by its events. */
async function ownLimits(login: Login, how: 'through gw' | 'beside gw'): Promise<unknown[]> {
  const { path, gateway, home, env } = await stageWith(login);
  const isCodex = login.agent.name === 'codex';
  const clock = { now: () => RESETS_FROM };
  const plan = createPlanService({ clock, kind: isCodex ? 'chatgpt' : 'claude', weights: {} });
  plan.spendElsewhere(USED);
  gateway.upstream.script(withLimits(() => ({ ...plan.headers(), date: new Date().toUTCString() })));
  const url = gateway.upstream.url;
  const words = isCodex
    ? login.agent.args.filter((word) => word !== '--ephemeral')
    : [...login.agent.args, '--output-format', 'stream-json', '--verbose'];
  const straight = Object.entries({
    model_provider: '"plan"',
    'model_providers.plan.name': '"plan"',
    'model_providers.plan.base_url': `"${url}"`,
    'model_providers.plan.requires_openai_auth': 'true',
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const beside = isCodex ? [...words.slice(0, 1), ...straight, ...words.slice(1)] : words;
  const output =
    how === 'through gw'
      ? await start(
          process.execPath,
          [GW, 'run', ...IN_PROJECT, '--subscription', '--', path, ...words],
          env,
          home,
        ).output
      : await start(
          path,
          beside,
          {
            ...env,
            ANTHROPIC_BASE_URL: new URL(url).origin,
            // A key of its own would come before the login.
            ANTHROPIC_API_KEY: '',
            NO_PROXY: '127.0.0.1',
          },
          home,
        ).output;
  const logs = isCodex
    ? readdirSync(join(home, '.codex/sessions'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => readFileSync(join(home, '.codex/sessions', name), 'utf8'))
    : [output];
  return logs
    .flatMap((log) => log.split('\n'))
    .filter((line) => line.includes('rate_limit'))
    .map((line) => JSON.parse(line))
    .map((line) => line.payload?.rate_limits ?? line.rate_limit_info)
    .filter(Boolean);
}

/** A whole minute in the near future, so that both runs are told of the same reset. */
const RESETS_FROM = Math.ceil(Date.now() / 3_600_000) * 3_600_000;

test.each(LOGINS)(
  "$agent.name's own display of its limits is the same with and without gw",
  async (login) => {
    const through = await ownLimits(login, 'through gw');
    expect(JSON.stringify(through)).toMatch(/92/);
    expect(through).toEqual(await ownLimits(login, 'beside gw'));
  },
);

async function expectCovered(
  gateway: Awaited<ReturnType<typeof stageFor>>['gateway'],
  { authorization, agent }: Login,
  requests: number,
): Promise<void> {
  const records = await gateway.settled(requests);
  for (const { endpoint, flags, provider } of records.filter(({ provider }) => provider !== 'sandbox'))
    expect([endpoint, flags.includes('not_billed'), provider]).toEqual([
      agent.endpoint,
      true,
      agent.name === 'codex' ? 'openai' : 'anthropic',
    ]);
  const sent = gateway.upstream.requests;
  expect(sent.length).toBeGreaterThan(0);
  for (const {
    head: { headers },
  } of sent)
    expect(
      headers
        .filter(([name]) => /^(authorization|x-gw-key|x-api-key)$/i.test(name))
        .map(([, value]) => value),
    ).toEqual([authorization]);
}
