import type { Settings } from '../../config/settings.ts';
import type { ModelTiers } from '../../config/tiers.ts';
import type { Provider } from '../../providers/registry.ts';
import type { ScoreWindow } from '../../tiering/share.ts';
import type { Resolver, RoutedTarget } from './resolve.ts';

/** Where requests for a model with tiers may go. */
export interface TierOffer {
  /** What the cheaper tier is called. */
  weakName: string;
  /** The part of the requests that is to go to the strong tier. */
  share: number | undefined;
  strong: readonly RoutedTarget[];
  weak: readonly RoutedTarget[];
  /** The cheaper tier, and behind it the strong one: what was asked for may answer where the cheaper tier fails. */
  weakFirst: readonly RoutedTarget[];
  /** Where the model that was asked for is served, tiers or no tiers. */
  request: readonly RoutedTarget[];
}

/** The tiers that are configured, and what deciding between them goes by. */
export interface Tiers {
  /** Undefined where none are configured for a model, or a tier has no provider any more. */
  of(model: string, family: Provider['wire']): TierOffer | undefined;
  /** A share that was set for a project, which goes before that of the tiers. */
  shareOf(project: string): number | undefined;
  /** The last scores of a project's requests for a model. */
  windowOf(projectId: number, model: string): ScoreWindow;
  /** How much of its tightest budget a project had spent at its last admission. */
  spentOfCap(projectId: number): number;
  admitted(projectId: number, spentOfCap: number): void;
  /** Providers, aliases or tiers have changed. */
  forget(): void;
}

export interface TiersOptions {
  settings: () => Settings;
  resolver: Pick<Resolver, 'find' | 'findAll'>;
  /** Scores of an earlier run. */
  known: readonly KnownScore[];
}

export interface KnownScore {
  projectId: number;
  model: string;
  score: number;
}

/** Behind every target of the cheaper tier. */
const BEHIND = 1_000_000;

export function createTiers({ settings, resolver, known }: TiersOptions): Tiers {
  const offers = new Map<string, TierOffer | undefined>();
  const windows = new Map<string, ScoreWindow>();
  const spent = new Map<number, number>();
  const windowOf = (projectId: number, model: string): ScoreWindow => {
    const key = `${projectId} ${model}`;
    const window = windows.get(key) ?? [];
    windows.set(key, window);
    return window;
  };
  for (const { projectId, model, score } of known) windowOf(projectId, model).push(score);

  function offerFor(
    model: string,
    { strong, weak, share }: ModelTiers,
    family: Provider['wire'],
  ): TierOffer | undefined {
    const [strongTargets, weakTargets] = [strong, weak.models].map((models) =>
      resolver.findAll(models, family),
    );
    const request = resolver.find(model, family);
    if (!strongTargets?.length || !weakTargets?.length) return undefined;
    return {
      weakName: weak.name,
      share,
      strong: strongTargets,
      weak: weakTargets,
      weakFirst: [...weakTargets, ...strongTargets.map(putBehind)],
      // A name of the user's own stands for the strong tier.
      request: request.length > 0 ? request : strongTargets,
    };
  }

  return {
    of(model, family) {
      const tiers = settings().tiers[model];
      if (tiers === undefined) return undefined;
      const key = `${family} ${model}`;
      if (!offers.has(key)) offers.set(key, offerFor(model, tiers, family));
      return offers.get(key);
    },
    shareOf: (project) => settings()['routing.shares'][project]?.share,
    windowOf,
    spentOfCap: (projectId) => spent.get(projectId) ?? 0,
    admitted: (projectId, spentOfCap) => void spent.set(projectId, spentOfCap),
    forget: () => offers.clear(),
  };
}

function putBehind(target: RoutedTarget): RoutedTarget {
  return { ...target, candidate: { ...target.candidate, priority: target.candidate.priority + BEHIND } };
}
