import { badRequest, GwError, notFound } from '../../errors.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/** Answered by gw itself when no provider of Anthropic's API has the model. */
export const COUNT_TOKENS = '/messages/count_tokens';

/**
 * Chooses the target of a pass-through request: the provider of the request's model, else the provider in the header
 * `x-service-provider`, else the only provider that speaks the client's API, else the API's maker.
 */
export async function chooseTarget(
  gateway: Pick<Gateway, 'providers' | 'resolver'>,
  context: AnyRequestContext,
  path: string,
): Promise<Target> {
  const { request, exchange } = context;
  const header = exchange.request.headers['x-service-provider'];
  const wire = wireOf(context, path);
  const requested = typeof header === 'string' ? findProvider(gateway, header) : undefined;
  if (request.model !== '') {
    const targets = await targetsOf(gateway, request.model, wire);
    const target = targets.find(({ provider }) =>
      requested ? provider === requested : provider.wire === wire,
    );
    if (target) return target;
    const [foreign] = targets;
    if (!requested && foreign && path === COUNT_TOKENS) return foreign;
  }
  return { provider: requested ?? defaultProvider(gateway, wire), model: request.model };
}

/** Empty for a model that no provider lists: it may still exist, such as a new or a fine-tuned one. */
async function targetsOf(
  gateway: Pick<Gateway, 'resolver'>,
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

function findProvider(gateway: Pick<Gateway, 'providers'>, name: string): Provider {
  const provider = gateway.providers().get(name);
  if (provider) return provider;
  throw notFound(`no provider "${name}". See: gw providers list`, 'provider_not_found', 'x-service-provider');
}

function defaultProvider(gateway: Pick<Gateway, 'providers'>, wire: Provider['wire']): Provider {
  const candidates = [...gateway.providers().values()].filter(
    (provider) => provider.wire === wire && provider.source !== 'built-in',
  );
  const maker = candidates.find(({ name }) => name === wire);
  const only = candidates.length === 1 ? candidates[0] : undefined;
  const provider = only ?? maker;
  if (provider) return provider;
  if (candidates.length === 0) {
    throw notFound(`no provider speaks this API. Add one: gw providers add ${wire}`, 'provider_not_found');
  }
  const names = candidates.map(({ name }) => name).join(', ');
  throw badRequest(
    `gw passes this endpoint through, but several providers could take it. Set the header "x-service-provider" to one of ${names}`,
    'x-service-provider',
    'provider_ambiguous',
  );
}
