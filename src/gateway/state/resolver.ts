import { createHash } from 'node:crypto';
import { expandAlias, groupsIn } from '../../config/aliases.ts';
import { notFound } from '../../errors.ts';
import { libraryModelNames } from '../../pricing/library.ts';
import type { ModelLists } from '../../providers/model-lists.ts';
import { didYouMean } from '../../providers/nearest-names.ts';
import { type Provider, servingModel } from '../../providers/registry.ts';
import type { Candidate } from '../../routing/candidate.ts';

/** A model at a provider. */
export interface Target {
  provider: Provider;
  /** The provider's name for the model. */
  model: string;
}

/** A target that requests can be routed to. */
export interface RoutedTarget extends Target {
  /** The same target with its priority, for the router. */
  candidate: Candidate;
  /** The user named it, by an alias or as `provider/model`; otherwise gw found it among the providers of the model. */
  named: boolean;
}

export type Resolver = ReturnType<typeof createResolver>;

interface ResolverOptions {
  providers: () => ReadonlyMap<string, Provider>;
  aliases: () => Readonly<Record<string, string>>;
  lists: ModelLists;
  /** A price for comparing targets; undefined when it is unknown. */
  priceOf: (target: Target) => number | undefined;
}

const MAX_CACHED = 5_000;
/** Priorities per group: leaves room to rank the targets within a group. */
const RANKS_PER_GROUP = 1_000;
const FOREIGN_WIRE_RANK = 500;

/**
 * Finds the targets of a model name: an alias expands to other names; `provider/model` names its provider; any other
 * name is served by the providers that list it, else by those whose naming pattern it matches. If that finds nothing,
 * gw asks the providers for their current lists.
 */
export function createResolver({ providers, aliases, lists, priceOf }: ResolverOptions) {
  const cache = {
    openai: new Map<string, RoutedTarget[]>(),
    anthropic: new Map<string, RoutedTarget[]>(),
    gemini: new Map<string, RoutedTarget[]>(),
  };

  function lookUp(request: string, family: Provider['wire']): RoutedTarget[] {
    return targetsOf(expandAlias(request, aliases()), family);
  }

  function targetsOf(groups: string[][], family: Provider['wire'], isNamed = false): RoutedTarget[] {
    const isList = isNamed || groups.length > 1 || groups.some((names) => names.length > 1);
    const all = groups.flatMap((names, group) =>
      names.flatMap((name) => {
        const { targets, hasProvider } = findByName(name, family);
        const named = isList || hasProvider;
        const rankOf = named ? () => 0 : rankBy(targets, family);
        return targets.map((target) => routedTarget(target, group * RANKS_PER_GROUP + rankOf(target), named));
      }),
    );
    return all.filter(isFirst).sort((a, b) => a.candidate.priority - b.candidate.priority);
  }

  /** Ranks targets that speak the client's API before those that need translation, and cheaper ones first. */
  function rankBy(targets: readonly Target[], family: Provider['wire']): (target: Target) => number {
    if (targets.length < 2) return () => 0;
    const priceIn = (target: Target) => priceOf(target) ?? Number.POSITIVE_INFINITY;
    const prices = [...new Set(targets.map(priceIn))].sort((a, b) => a - b);
    return (target) =>
      prices.indexOf(priceIn(target)) + (target.provider.wire === family ? 0 : FOREIGN_WIRE_RANK);
  }

  function findByName(model: string, family: Provider['wire']): { targets: Target[]; hasProvider: boolean } {
    const slash = model.indexOf('/');
    const provider = slash > 0 ? providers().get(model.slice(0, slash)) : undefined;
    if (provider) {
      const target = targetAt(provider, nameAt(provider, model, model.slice(slash + 1)), family);
      return { targets: [target], hasProvider: true };
    }
    const listing = lists.known(model);
    const serving =
      listing.length > 0 ? listing : [...providers().values()].filter(({ models }) => models?.test(model));
    return { targets: serving.map((each) => targetAt(each, model, family)), hasProvider: false };
  }

  function addToCache(request: string, family: Provider['wire'], targets: RoutedTarget[]): RoutedTarget[] {
    if (cache[family].size >= MAX_CACHED) cache[family].clear();
    cache[family].set(request, targets);
    return targets;
  }

  async function askProviders(request: string, family: Provider['wire']): Promise<RoutedTarget[]> {
    await lists.refresh();
    const targets = lookUp(request, family);
    if (targets.length > 0) return addToCache(request, family, targets);
    throw notFound(notFoundMessage(request), 'model_not_found', 'model');
  }

  function notFoundMessage(request: string): string {
    const answers = lists.all().map(({ provider, models, error }) => {
      if (error !== null) return `${provider.name} (no list: ${error})`;
      return `${provider.name} (${models.length} ${models.length === 1 ? 'model' : 'models'})`;
    });
    const names = expandAlias(request, aliases()).flat();
    const alias = names.length === 1 && names[0] === request ? '' : `, which stands for ${names.join(', ')}`;
    const providersText = answers.length > 0 ? `Asked: ${answers.join(', ')}.` : 'No provider is configured.';
    const known = lists
      .all()
      .flatMap(({ provider, models }) => [
        ...models.map(({ id }) => id),
        ...libraryModelNames(provider.name),
      ]);
    const hint = didYouMean(request, [...Object.keys(aliases()), ...known]);
    return `no provider serves the model "${request}"${alias}.${hint} ${providersText} Name the provider (provider/model), add one (gw providers add NAME), or list the models: gw models`;
  }

  return {
    /**
     * The targets that serve a model name, by priority, for clients of an API. Throws GwError 404 with the providers that
     * were asked.
     */
    resolve(request: string, family: Provider['wire']): RoutedTarget[] | Promise<RoutedTarget[]> {
      const cached = cache[family].get(request);
      if (cached) return cached;
      const targets = lookUp(request, family);
      return targets.length > 0 ? addToCache(request, family, targets) : askProviders(request, family);
    },
    /** The same without asking any provider; empty for a name that gw doesn't know yet. */
    find: lookUp,
    /** The same for a list of names, in the syntax of an alias. */
    findAll: (models: string, family: Provider['wire']): RoutedTarget[] =>
      targetsOf(groupsIn(models, aliases()), family, true),
    /** Clears the cache after providers or aliases have changed. */
    forget() {
      for (const targets of Object.values(cache)) targets.clear();
    },
  };
}

const targetAt = (provider: Provider, model: string, family: Provider['wire']): Target => ({
  provider: servingModel(provider, model, family),
  model,
});

function routedTarget({ provider, model }: Target, priority: number, named: boolean): RoutedTarget {
  const { name, authHeaders } = provider;
  // Identifies the key by its hash: a failure under one key need not affect another.
  const keyId = createHash('sha256').update(JSON.stringify(authHeaders)).digest('hex').slice(0, 8);
  return { provider, model, candidate: { provider: name, model, keyId, priority, weight: 1 }, named };
}

function isFirst({ provider, model }: Target, at: number, all: readonly Target[]): boolean {
  return all.findIndex((other) => other.provider === provider && other.model === model) === at;
}

/** The sandbox's models have the provider's name in their own. */
function nameAt(provider: Provider, full: string, rest: string): string {
  return provider.models?.test(full) ? full : rest;
}
