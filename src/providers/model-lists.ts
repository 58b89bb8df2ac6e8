import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { objectsIn } from '../json/object.ts';
import { createRedactor } from '../redact.ts';
import type { Provider } from './registry.ts';

/** A model in its provider's list. */
export interface ListedModel {
  id: string;
  /** The provider's entry, unchanged. */
  raw: Record<string, unknown>;
}

/** The providers' model lists, fetched on first use and cached for 10 minutes. */
export interface ModelLists {
  /** The providers whose cached list contains a model. Never fetches. */
  known(model: string): Provider[];
  /** A model's entry in its provider's cached list. */
  find(provider: Provider, model: string): ListedModel | undefined;
  /** Fetches every list that is missing or stale. Resolves when all fetches have succeeded or failed. */
  refresh(): Promise<void>;
  /** All cached lists. `error` is the reason of the last failed fetch. */
  all(): { provider: Provider; models: ListedModel[]; error: string | null }[];
}

/** Fetches one provider's list. Throws errors with user-facing messages. */
export type FetchModels = (provider: Provider) => Promise<ListedModel[]>;

const FRESH_MS = 10 * 60_000;
const RETRY_MS = 30_000;

interface Entry {
  /** The provider's address and credentials at the time of the fetch. */
  access: string;
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

  /** The cached list, valid only while the provider's address and key stay the same. */
  function entryOf(provider: Provider): Entry | undefined {
    const entry = entries.get(provider.name);
    return entry?.access === accessOf(provider) ? entry : undefined;
  }

  async function load(provider: Provider): Promise<void> {
    const access = accessOf(provider);
    try {
      const models = new Map((await fetchModels(provider)).map((model) => [model.id, model]));
      entries.set(provider.name, { access, models, error: null, dueAt: clock.monotonic() + FRESH_MS });
    } catch (error) {
      const models = entryOf(provider)?.models ?? new Map();
      entries.set(provider.name, {
        access,
        models,
        error: withoutKey(error, provider),
        dueAt: clock.monotonic() + RETRY_MS,
      });
    } finally {
      running.delete(access);
    }
  }

  function ensure(provider: Provider): Promise<void> | undefined {
    const entry = entryOf(provider);
    if (entry && clock.monotonic() < entry.dueAt) return undefined;
    let promise = running.get(accessOf(provider));
    if (!promise) {
      promise = load(provider);
      running.set(accessOf(provider), promise);
    }
    return promise;
  }

  return {
    known: (model) => [...providers()].filter((provider) => entryOf(provider)?.models.has(model)),
    find: (provider, model) => entryOf(provider)?.models.get(model),
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

/** The error message without the provider's key: parsers quote their input. */
export function withoutKey(error: unknown, { authHeaders }: Provider): string {
  const values = authHeaders.filter((_, i) => i % 2 === 1);
  return createRedactor(values).redact(messageOf(error));
}

function accessOf({ name, origin, basePath, ownProxy, authHeaders }: Provider): string {
  return JSON.stringify([name, origin, basePath, ownProxy?.address, ...authHeaders]);
}

/** Parses the response of `GET /models`. Throws if it has neither OpenAI's format nor Google's. */
export function parseModelList(text: string): ListedModel[] {
  const body = JSON.parse(text) as { data?: unknown; models?: unknown };
  const list = Array.isArray(body) ? body : (body.data ?? body.models);
  if (!Array.isArray(list)) throw new Error('the answer has no list of models');
  return objectsIn(list).flatMap((raw) => {
    // Google's own list has names: https://ai.google.dev/api/models
    const id = raw.id ?? (body.models ? raw.name : undefined);
    return typeof id === 'string' ? [{ id: id.replace(/^models\//, ''), raw }] : [];
  });
}
