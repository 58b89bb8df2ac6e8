import { readDeployments } from '../../operations/known-prices.ts';
import { deploymentsWith } from '../../pricing/deployments.ts';
import { LIBRARY_PROVIDERS } from '../../pricing/library.ts';
import { signedHeaders } from '../../providers/clouds/signed-headers.ts';
import { type Learnt, learntOf, mannersIn } from '../../providers/manners.ts';
import { PRESETS } from '../../providers/presets.ts';
import { billedAs, type Provider } from '../../providers/registry.ts';
import { createRouterStateStore } from '../../store/router/router-state.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** What gw knows of a provider, as `gw providers show NAME --json` prints it. */
export type ProviderView = Awaited<ReturnType<typeof viewProvider>>;

/** Without the key itself. */
export async function viewProvider(context: Context, provider: Provider) {
  const { name, wire, origin, basePath, keySource, cloud } = provider;
  const own = provider.deployments ?? {};
  const answers = (await withStore(context, async (db) => readDeployments(db)))[name];
  return {
    name,
    kind: cloud ? (provider.knownAs ?? name) : wire,
    base_url: origin + basePath,
    credential: { source: keySource, expires_at: await expiryOf(provider) },
    apis: apisOf(provider),
    dialect: plain(provider.dialect ?? {}),
    dialect_of: provider.knownAs ?? null,
    learnt: (await readLearnt(context))(name),
    deployments: Object.entries(deploymentsWith(answers, own)).map(([name, model]) => ({
      name,
      model,
      source: Object.hasOwn(own, name) ? 'setting' : 'answer',
    })),
    prices_of: pricesOf(context, name),
  };
}

/** What is remembered of a provider's refusals, by its name. */
export async function readLearnt(context: Context): Promise<(name: string) => Learnt[]> {
  const saved = await withStore(context, async (db) => createRouterStateStore(db).read('manners'));
  const now = context.clock.now();
  return (name) => learntOf(name, mannersIn(saved), now);
}

function pricesOf(context: Context, name: string): string | null {
  const seller = billedAs(readSettings(context).settings.providers, {}).get(name)?.seller ?? name;
  return LIBRARY_PROVIDERS.has(seller) || PRESETS[seller]?.local ? seller : null;
}

/** When the credentials expire that a cloud would get now; null for those without an end, and if there are none. */
async function expiryOf(provider: Provider): Promise<string | null> {
  const { origin, cloud } = provider;
  await signedHeaders(provider, new URL(origin)).catch(() => undefined);
  const at = cloud?.signer?.expiresAt();
  return at === undefined ? null : new Date(at).toISOString();
}

function apisOf({ claude, gemini, ...own }: Provider): string[] {
  const { wire, dialect } = own;
  if (claude) return [own, claude, gemini].flatMap((each) => (each ? apisOf(each) : []));
  if (wire !== 'openai') return [wire === 'anthropic' ? 'messages' : 'gemini'];
  return dialect?.lacksResponses ? ['chat'] : ['chat', 'responses'];
}

/** With patterns as their text. */
const plain = (dialect: object): Record<string, unknown> =>
  JSON.parse(JSON.stringify(dialect, (_, value) => (value instanceof RegExp ? String(value) : value)));
