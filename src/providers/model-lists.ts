import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Provider } from './registry.ts';

/** A model as its provider lists it. */
export interface ListedModel {
  id: string;
  /** All that the provider says of it. */
  raw: Record<string, unknown>;
}

/** What each provider says it has, fetched when first needed and kept for a while. */
export interface ModelLists {
  /** The providers known to list a model, without asking anybody. */
  known(model: string): Provider[];
  /** Asks every provider whose list is missing or old; returns once all have answered or failed. */
  refresh(): Promise<void>;
  /** All lists as they are known; `error` tells why one is missing. */
  all(): { provider: Provider; models: ListedModel[]; error: string | null }[];
}

/** Fetches one provider's list. Throws with a message for people. */
export type FetchModels = (provider: Provider) => Promise<ListedModel[]>;

const FRESH_MS = 10 * 60_000;
const RETRY_MS = 30_000;

interface Entry {
  /** How the provider was reached. */
  reach: string;
  models: Map<string, ListedModel>;
  error: string | null;
  dueAt: number;
}

export function createModelLists(
  providers: () => Iterable<Provider>,
  fetchModels: FetchModels,
  clock: Clock,
): ModelLists {
  const entries = new Map<string, Entry>();
  const running = new Map<string, Promise<void>>();

  /** A list holds only as long as its provider stays where it is and knows gw by the same key. */
  function entryOf(provider: Provider): Entry | undefined {
    const entry = entries.get(provider.name);
    return entry?.reach === reachOf(provider) ? entry : undefined;
  }

  async function load(provider: Provider): Promise<void> {
    const reach = reachOf(provider);
    try {
      const models = new Map((await fetchModels(provider)).map((model) => [model.id, model]));
      entries.set(provider.name, { reach, models, error: null, dueAt: clock.now() + FRESH_MS });
    } catch (error) {
      const models = entryOf(provider)?.models ?? new Map();
      entries.set(provider.name, { reach, models, error: messageOf(error), dueAt: clock.now() + RETRY_MS });
    } finally {
      running.delete(reach);
    }
  }

  function ensure(provider: Provider): Promise<void> | undefined {
    const entry = entryOf(provider);
    if (entry && clock.now() < entry.dueAt) return undefined;
    let promise = running.get(reachOf(provider));
    if (!promise) {
      promise = load(provider);
      running.set(reachOf(provider), promise);
    }
    return promise;
  }

  return {
    known: (model) => [...providers()].filter((provider) => entryOf(provider)?.models.has(model)),
    async refresh() {
      await Promise.all([...providers()].map(ensure));
    },
    all: () =>
      [...providers()].map((provider) => {
        const entry = entryOf(provider);
        return { provider, models: [...(entry?.models.values() ?? [])], error: entry?.error ?? null };
      }),
  };
}

function reachOf({ name, origin, basePath, authHeaders }: Provider): string {
  return JSON.stringify([name, origin, basePath, ...authHeaders]);
}

/** Reads the answer of `GET /models`; throws if it is not of OpenAI's shape. */
export function parseModelList(text: string): ListedModel[] {
  const body = JSON.parse(text) as { data?: unknown };
  const list = Array.isArray(body) ? body : body.data;
  if (!Array.isArray(list)) throw new Error('the answer has no list of models');
  return list.filter(hasId).map((raw) => ({ id: raw.id.replace(/^models\//, ''), raw }));
}

function hasId(value: unknown): value is Record<string, unknown> & { id: string } {
  return typeof value === 'object' && value !== null && typeof (value as { id?: unknown }).id === 'string';
}
