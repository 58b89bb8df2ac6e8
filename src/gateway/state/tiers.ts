import type { Settings } from '../../config/settings.ts';
import type { ModelTiers } from '../../config/tiers.ts';
import type { Provider } from '../../providers/registry.ts';
import type { ScoreWindow } from '../../tiering/decide-tier.ts';
import type { Resolver, RoutedTarget } from './resolver.ts';

/** The targets of a model with tiers. */
export interface TierOffer {
  /** Name of the weak tier. */
  weakName: string;
  /** Share of the requests for the strong tier, in [0,1]; undefined when the tiers set none. */
  share: number | undefined;
  strong: readonly RoutedTarget[];
  weak: readonly RoutedTarget[];
  /** The weak tier's targets, then the strong tier's as a fallback. */
  weakFirst: readonly RoutedTarget[];
  /** The targets of the requested model itself, for requests that use no tiers. */
  untiered: readonly RoutedTarget[];
}

/** The configured tiers, and the state for choosing between them. */
export type Tiers = ReturnType<typeof createTiers>;

export interface TiersOptions {
  settings: () => Settings;
  resolver: Pick<Resolver, 'find' | 'findAll'>;
  /** Scores of an earlier run. */
  savedScores: readonly SavedScore[];
}

interface SavedScore {
  projectId: number;
  model: string;
  score: number;
}

/** Added to priorities of the strong tier, to rank it after every target of the weak tier. */
const FALLBACK_PRIORITY = 1_000_000;

export function createTiers({ settings, resolver, savedScores }: TiersOptions) {
  const offers = new Map<string, TierOffer | undefined>();
  const windows = new Map<string, ScoreWindow>();
  const spent = new Map<number, number>();
  /** The latest scores of a project's requests for a model. */
  const windowOf = (projectId: number, model: string): ScoreWindow => {
    const key = `${projectId} ${model}`;
    const window = windows.get(key) ?? [];
    windows.set(key, window);
    return window;
  };
  for (const { projectId, model, score } of savedScores) windowOf(projectId, model).push(score);

  function offerFor(
    model: string,
    { strong, weak, share }: ModelTiers,
    family: Provider['wire'],
  ): TierOffer | undefined {
    const [strongTargets, weakTargets] = [strong, weak.models].map((models) =>
      resolver.findAll(models, family),
    );
    const untiered = resolver.find(model, family);
    if (!strongTargets?.length || !weakTargets?.length) return undefined;
    return {
      weakName: weak.name,
      share,
      strong: strongTargets,
      weak: weakTargets,
      weakFirst: [...weakTargets, ...strongTargets.map(asFallback)],
      // A model name that only the tiers setting defines stands for the strong tier.
      untiered: untiered.length > 0 ? untiered : strongTargets,
    };
  }

  return {
    /** Undefined when the model has no tiers, or one of its tiers has no provider. */
    of(model: string, family: Provider['wire']): TierOffer | undefined {
      const tiers = settings().tiers[model];
      if (tiers === undefined) return undefined;
      const key = `${family} ${model}`;
      if (!offers.has(key)) offers.set(key, offerFor(model, tiers, family));
      return offers.get(key);
    },
    /** The share that is set for a project; it overrides that of the tiers. */
    shareOf: (project: string): number | undefined => settings()['routing.shares'][project]?.share,
    windowOf,
    /** Part of its tightest budget that a project had spent at its last admission, in [0,1]. */
    spentOfCap: (projectId: number): number => spent.get(projectId) ?? 0,
    setSpentOfCap: (projectId: number, spentOfCap: number) => void spent.set(projectId, spentOfCap),
    /** Clears the cache after providers, aliases or tiers have changed. */
    forget: () => offers.clear(),
  };
}

function asFallback(target: RoutedTarget): RoutedTarget {
  const priority = target.candidate.priority + FALLBACK_PRIORITY;
  return { ...target, candidate: { ...target.candidate, priority } };
}
