import type { ProviderSettings } from '../../src/config/settings.ts';
import { request } from './client.ts';
import { type GatewayOptions, startGateway, type TestGateway } from './gateway.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** A gateway whose model `many` has a target at each of several upstreams, in this order. */
export interface SeveralTargets {
  gateway: TestGateway;
  upstreams: Upstream[];
  /** How many requests reached each. */
  hits(): number[];
}

export const NAMES = ['a', 'b', 'c'];
export const MANY = { model: 'many', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 20 };
export const MANY_STREAM = { ...MANY, stream: true as const };

export interface SeveralOptions extends GatewayOptions {
  /** How the alias puts them together: `', '` in order, `' | '` as equals. */
  join?: string;
  count?: number;
  /** Dollars per million output tokens, at each. */
  outputUsd?: number[];
  wires?: ('openai' | 'anthropic')[];
}

export async function severalTargets(options: SeveralOptions = {}): Promise<SeveralTargets> {
  const { join = ', ', count = 3, outputUsd = [], wires = [] } = options;
  const names = NAMES.slice(0, count);
  const upstreams = await Promise.all(names.map(() => startUpstream()));
  const providers: Record<string, ProviderSettings> = {};
  for (const [i, name] of names.entries()) {
    providers[name] = { baseUrl: upstreams[i]?.url ?? '', wire: wires[i] ?? 'openai' };
  }
  const gateway = await startGateway({
    ...options,
    settings: {
      aliases: { many: names.map((name) => `${name}/m-${name}`).join(join) },
      ...options.settings,
      providers,
    },
  });
  for (const [i, name] of names.entries()) {
    await gateway.setPrice({
      provider: name,
      model: `m-${name}`,
      inputPicoUsd: 1_000_000,
      outputPicoUsd: (outputUsd[i] ?? 2) * 1_000_000,
    });
  }
  return { gateway, upstreams, hits: () => upstreams.map(({ requests }) => requests.length) };
}

/** The upstreams' connections end with the gateway. */
export async function closeAll({ gateway, upstreams }: SeveralTargets): Promise<void> {
  await gateway.stop();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
}

/** Sets a budget over HTTP; returns the answer. */
export async function setBudget(gateway: TestGateway, body: object) {
  const answer = await request(`${gateway.url}/budgets`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.json() as Record<string, unknown>;
}

/** What each budget has spent, in dollars. */
export async function spent(gateway: TestGateway): Promise<Record<string, unknown>> {
  const list = (await gateway.get('/v1/budgets')).json() as { data: Record<string, unknown>[] };
  return Object.fromEntries(list.data.map(({ id, spent_usd }) => [id, spent_usd]));
}
