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

  async function load(provider: Provider): Promise<void> {
    try {
      const models = new Map((await fetchModels(provider)).map((model) => [model.id, model]));
      entries.set(provider.name, { models, error: null, dueAt: clock.now() + FRESH_MS });
    } catch (error) {
      const models = entries.get(provider.name)?.models ?? new Map();
      entries.set(provider.name, { models, error: messageOf(error), dueAt: clock.now() + RETRY_MS });
    } finally {
      running.delete(provider.name);
    }
  }

  function ensure(provider: Provider): Promise<void> | undefined {
    const entry = entries.get(provider.name);
    if (entry && clock.now() < entry.dueAt) return undefined;
    let promise = running.get(provider.name);
    if (!promise) {
      promise = load(provider);
      running.set(provider.name, promise);
    }
    return promise;
  }

  return {
    known: (model) => [...providers()].filter((provider) => entries.get(provider.name)?.models.has(model)),
    async refresh() {
      await Promise.all([...providers()].map(ensure));
    },
    all: () =>
      [...providers()].map((provider) => {
        const entry = entries.get(provider.name);
        return { provider, models: [...(entry?.models.values() ?? [])], error: entry?.error ?? null };
      }),
  };
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
