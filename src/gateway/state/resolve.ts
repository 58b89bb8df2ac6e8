import { createHash } from 'node:crypto';
import { notFound } from '../../errors.ts';
import type { ModelLists } from '../../providers/model-lists.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Candidate } from '../../routing/candidate.ts';
import { namesFor, namesInList } from './aliases.ts';

/** A model at a provider. */
export interface Target {
  provider: Provider;
  /** As the provider calls it. */
  model: string;
}

/** A target that requests can be routed to. */
export interface RoutedTarget extends Target {
  /** The same target, as the router ranks it. */
  candidate: Candidate;
  /** It was named by an alias or with its provider; else it is one of several providers that list the model. */
  named: boolean;
}

export interface Resolver {
  /**
   * The targets that serve a model name, by priority, for clients of a wire. Throws GwError 404 that says what was
   * tried.
   */
  resolve(model: string, family: Provider['wire']): RoutedTarget[] | Promise<RoutedTarget[]>;
  /** The same for a name, as far as it is known without asking anybody; empty where it is not. */
  find(model: string, family: Provider['wire']): RoutedTarget[];
  /** The same for a list of names such as an alias has. */
  findAll(models: string, family: Provider['wire']): RoutedTarget[];
  /** Forgets all: providers or aliases have changed. */
  forget(): void;
}

export interface ResolverOptions {
  providers: () => ReadonlyMap<string, Provider>;
  aliases: () => Readonly<Record<string, string>>;
  lists: ModelLists;
  /** What some use of a model costs there, to compare; undefined where nobody knows. */
  priceOf: (target: Target) => number | undefined;
}

const MAX_REMEMBERED = 5_000;
/** Room for the order of providers that nobody has put in order. */
const RANKS = 1_000;
const FOREIGN_WIRE = 500;

/**
 * Finds who serves a model: an alias stands for other names; `provider/model` says it outright; else the providers
 * that list the model; else the provider whose names look like it. Only a name that none of these explains makes gw
 * ask the providers for their lists.
 */
export function createResolver({ providers, aliases, lists, priceOf }: ResolverOptions): Resolver {
  const remembered = {
    openai: new Map<string, RoutedTarget[]>(),
    anthropic: new Map<string, RoutedTarget[]>(),
  };

  function lookUp(request: string, family: Provider['wire']): RoutedTarget[] {
    return targetsOf(namesFor(request, aliases()), family);
  }

  function targetsOf(groups: string[][], family: Provider['wire'], isChosen = false): RoutedTarget[] {
    const isList = isChosen || groups.length > 1 || groups.some((names) => names.length > 1);
    const found = groups.flatMap((names, group) =>
      names.flatMap((name) => {
        const { targets, said } = byName(name);
        const named = isList || said;
        const rankOf = named ? () => 0 : rankBy(targets, family);
        return targets.map((target) => routed(target, group * RANKS + rankOf(target), named));
      }),
    );
    return found.filter(isFirst).sort((a, b) => a.candidate.priority - b.candidate.priority);
  }

  /** Those that speak the client's wire before those that have to be translated for, and the cheapest first. */
  function rankBy(targets: readonly Target[], family: Provider['wire']): (target: Target) => number {
    if (targets.length < 2) return () => 0;
    const priceIn = (target: Target) => priceOf(target) ?? Number.POSITIVE_INFINITY;
    const prices = [...new Set(targets.map(priceIn))].sort((a, b) => a - b);
    return (target) => prices.indexOf(priceIn(target)) + (target.provider.wire === family ? 0 : FOREIGN_WIRE);
  }

  function byName(model: string): { targets: Target[]; said: boolean } {
    const slash = model.indexOf('/');
    const named = slash > 0 ? providers().get(model.slice(0, slash)) : undefined;
    if (named) {
      const target = { provider: named, model: nameAt(named, model, model.slice(slash + 1)) };
      return { targets: [target], said: true };
    }
    const listed = lists.known(model);
    const serving =
      listed.length > 0
        ? listed
        : [...providers().values()].filter((provider) => provider.models?.test(model));
    return { targets: serving.map((provider) => ({ provider, model })), said: false };
  }

  function remember(request: string, family: Provider['wire'], targets: RoutedTarget[]): RoutedTarget[] {
    if (remembered[family].size >= MAX_REMEMBERED) remembered[family].clear();
    remembered[family].set(request, targets);
    return targets;
  }

  async function ask(request: string, family: Provider['wire']): Promise<RoutedTarget[]> {
    await lists.refresh();
    const targets = lookUp(request, family);
    if (targets.length > 0) return remember(request, family, targets);
    throw notFound(explain(request), 'model_not_found', 'model');
  }

  function explain(request: string): string {
    const tried = lists.all().map(({ provider, models, error }) => {
      if (error !== null) return `${provider.name} (no list: ${error})`;
      return `${provider.name} (${models.length} ${models.length === 1 ? 'model' : 'models'})`;
    });
    const names = namesFor(request, aliases()).flat();
    const alias = names.length === 1 && names[0] === request ? '' : `, which stands for ${names.join(', ')}`;
    const who = tried.length > 0 ? `Asked: ${tried.join(', ')}.` : 'No provider is configured.';
    return `no provider serves the model "${request}"${alias}. ${who} Name the provider (provider/model), add one (gw providers add NAME), or see what there is: gw models`;
  }

  return {
    resolve(request, family) {
      const known = remembered[family].get(request);
      if (known) return known;
      const targets = lookUp(request, family);
      return targets.length > 0 ? remember(request, family, targets) : ask(request, family);
    },
    find: lookUp,
    findAll: (models, family) => targetsOf(namesInList(models, aliases()), family, true),
    forget() {
      remembered.openai.clear();
      remembered.anthropic.clear();
    },
  };
}

function routed({ provider, model }: Target, priority: number, named: boolean): RoutedTarget {
  return { provider, model, candidate: candidateOf(provider, model, priority), named };
}

/** Identifies the key by its hash: a failure under one key need not affect another. */
function candidateOf({ name, authHeaders }: Provider, model: string, priority: number): Candidate {
  const keyId = createHash('sha256').update(JSON.stringify(authHeaders)).digest('hex').slice(0, 8);
  return { provider: name, model, keyId, priority, weight: 1 };
}

function isFirst({ provider, model }: Target, at: number, all: readonly Target[]): boolean {
  return all.findIndex((other) => other.provider === provider && other.model === model) === at;
}

/** The sandbox's models carry the provider's name in their own. */
function nameAt(provider: Provider, full: string, rest: string): string {
  return provider.models?.test(full) ? full : rest;
}
