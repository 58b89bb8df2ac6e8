import { badRequest, GwError, notFound } from '../../errors.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** gw counts itself where no provider of the wire has the model. */
export const COUNT_TOKENS = '/messages/count_tokens';

/**
 * Who gets a request that gw doesn't understand: the provider of the model that it names, else the one that the header
 * `x-service-provider` names, else the only one that speaks the client's wire, or its maker.
 */
export async function chooseTarget(
  gateway: Gateway,
  context: AnyRequestContext,
  path: string,
): Promise<Target> {
  const { request, exchange } = context;
  const header = exchange.request.headers['x-service-provider'];
  const wire = wireOf(context, path);
  const named = typeof header === 'string' ? byName(gateway, header) : undefined;
  if (request.model !== '') {
    const targets = await targetsOf(gateway, request.model, wire);
    const fitting = targets.find(({ provider }) => (named ? provider === named : provider.wire === wire));
    if (fitting) return fitting;
    const [other] = targets;
    if (!named && other && path === COUNT_TOKENS) return other;
  }
  return { provider: named ?? byWire(gateway, wire), model: request.model };
}

/** Models that no provider lists may well exist: fine-tuned ones, new ones. */
async function targetsOf(
  gateway: Gateway,
  model: string,
  wire: Provider['wire'],
): Promise<readonly Target[]> {
  try {
    return await gateway.resolver.resolve(model, wire);
  } catch (error) {
    if (error instanceof GwError && error.code === 'model_not_found') return [];
    throw error;
  }
}

function wireOf({ exchange }: AnyRequestContext, path: string): Provider['wire'] {
  const isAnthropic = exchange.request.headers['anthropic-version'] !== undefined;
  return isAnthropic || /^\/messages(\/|$)/.test(path) ? 'anthropic' : 'openai';
}

function byName(gateway: Gateway, name: string): Provider {
  const provider = gateway.providers().get(name);
  if (provider) return provider;
  throw notFound(`no provider "${name}". See: gw providers list`, 'provider_not_found', 'x-service-provider');
}

function byWire(gateway: Gateway, wire: Provider['wire']): Provider {
  const speaking = [...gateway.providers().values()].filter(
    (provider) => provider.wire === wire && provider.source !== 'built-in',
  );
  const maker = speaking.find(({ name }) => name === wire);
  const only = speaking.length === 1 ? speaking[0] : undefined;
  const provider = only ?? maker;
  if (provider) return provider;
  if (speaking.length === 0) {
    throw notFound(`no provider speaks this API. Add one: gw providers add ${wire}`, 'provider_not_found');
  }
  const names = speaking.map(({ name }) => name).join(', ');
  throw badRequest(
    `gw passes this endpoint through and can't tell to whom: send the header "x-service-provider" with one of ${names}`,
    'x-service-provider',
    'provider_ambiguous',
  );
}
