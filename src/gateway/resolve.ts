import { notFound } from '../errors.ts';
import type { ModelLists } from '../providers/model-lists.ts';
import type { Provider } from '../providers/registry.ts';

/** A model at a provider. */
export interface Target {
  provider: Provider;
  /** As the provider calls it. */
  model: string;
}

export interface Resolver {
  /** The targets that serve a model name, best first. Throws GwError 404 that says what was tried. */
  resolve(model: string): Target[] | Promise<Target[]>;
  /** Forgets all: providers or aliases have changed. */
  forget(): void;
}

export interface ResolverOptions {
  providers: () => ReadonlyMap<string, Provider>;
  aliases: () => Readonly<Record<string, string>>;
  lists: ModelLists;
}

const MAX_REMEMBERED = 5_000;
const MAX_ALIAS_STEPS = 5;

/**
 * Finds who serves a model: an alias stands for another name; `provider/model` says it outright; else the providers
 * that list the model; else the provider whose names look like it. Only a name that none of these explains makes gw
 * ask the providers for their lists.
 */
export function createResolver({ providers, aliases, lists }: ResolverOptions): Resolver {
  const remembered = new Map<string, Target[]>();

  function lookUp(asked: string): Target[] {
    const model = unalias(asked, aliases());
    const slash = model.indexOf('/');
    const named = slash > 0 ? providers().get(model.slice(0, slash)) : undefined;
    if (named) return [{ provider: named, model: nameAt(named, model, model.slice(slash + 1)) }];
    const listed = lists.known(model);
    if (listed.length > 0) return listed.map((provider) => ({ provider, model }));
    return [...providers().values()]
      .filter((provider) => provider.models?.test(model))
      .map((provider) => ({ provider, model }));
  }

  function remember(asked: string, targets: Target[]): Target[] {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(asked, targets);
    return targets;
  }

  async function ask(asked: string): Promise<Target[]> {
    await lists.refresh();
    const targets = lookUp(asked);
    if (targets.length > 0) return remember(asked, targets);
    throw notFound(explain(asked), 'model_not_found', 'model');
  }

  function explain(asked: string): string {
    const tried = lists.all().map(({ provider, models, error }) => {
      if (error !== null) return `${provider.name} (no list: ${error})`;
      return `${provider.name} (${models.length} ${models.length === 1 ? 'model' : 'models'})`;
    });
    const who = tried.length > 0 ? `Asked: ${tried.join(', ')}.` : 'No provider is configured.';
    return `no provider serves the model "${asked}". ${who} Name the provider (provider/model), add one (gw providers add NAME), or see what there is: gw models`;
  }

  return {
    resolve(asked) {
      const known = remembered.get(asked);
      if (known) return known;
      const targets = lookUp(asked);
      return targets.length > 0 ? remember(asked, targets) : ask(asked);
    },
    forget: () => remembered.clear(),
  };
}

function unalias(asked: string, aliases: Readonly<Record<string, string>>): string {
  let model = asked;
  for (let i = 0; i < MAX_ALIAS_STEPS && Object.hasOwn(aliases, model); i++) model = aliases[model] ?? model;
  return model;
}

/** The sandbox's models carry the provider's name in their own. */
function nameAt(provider: Provider, full: string, rest: string): string {
  return provider.models?.test(full) ? full : rest;
}
