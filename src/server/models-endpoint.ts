import type { IncomingMessage } from 'node:http';
import { notFound } from '../errors.ts';
import type { Resolver } from '../gateway/state/resolver.ts';
import type { Catalog } from '../pricing/catalog.ts';
import { modelLimits } from '../pricing/limits.ts';
import type { Rate } from '../pricing/rate.ts';
import type { ListedModel, ModelLists } from '../providers/model-lists.ts';
import type { Provider } from '../providers/registry.ts';
import { SDK_MODELS } from '../providers/sdk-models.ts';
import { speaksAnthropic } from './anthropic-error.ts';
import type { ToHandler } from './json-handlers.ts';
import { queryOf, type RouteTable } from './routes.ts';

export interface ModelsContext {
  lists: ModelLists;
  catalog: Catalog;
  aliases: Readonly<Record<string, string>>;
  find: Resolver['find'];
}

type Model = Record<string, unknown> & { id: string };

/** The routes of models. */
export function modelRoutes(json: ToHandler, context: () => ModelsContext): RouteTable {
  const get = (id: string, request: IncomingMessage) => getModel(context(), id, speaksAnthropic(request));
  return {
    'GET /v1/models': json((_caller, { request }) =>
      listModels(context(), speaksAnthropic(request), queryOf(request.url ?? '')),
    ),
    'GET /v1/models/{id}': json((_caller, { request }, { id = '' }) => get(id, request)),
    'GET /v1/models/{provider}/{id}': json((_caller, { request }, { provider, id }) =>
      get(`${provider}/${id}`, request),
    ),
    'GET /v1/models/{provider}/{vendor}/{id}': json((_caller, { request }, { provider, vendor, id }) =>
      get(`${provider}/${vendor}/${id}`, request),
    ),
  };
}

/** A model in OpenAI's shape: its provider's own fields, its limits, and its prices. */
function modelOf(provider: Provider, { id, raw }: ListedModel, catalog: Catalog): Model {
  const limits = modelLimits(provider.name, id);
  const card = catalog.find(provider.name, id);
  return {
    context_window: limits?.contextTokens ?? null,
    max_output_tokens: limits?.maxOutputTokens ?? null,
    // Dollars per million tokens; null if unknown.
    pricing: card
      ? {
          input: perMillion(card.input),
          cached_input: perMillion(card.cachedInput),
          output: perMillion(card.output),
        }
      : null,
    ...raw,
    created: createdAt(raw),
    id: nameOf(provider, id),
    object: 'model',
    owned_by: provider.name,
  };
}

/** UTC seconds, 0 if unknown. Anthropic sends a date. */
function createdAt({ created, created_at }: ListedModel['raw']): number {
  if (Number.isInteger(created)) return Number(created);
  return Math.floor(Date.parse(String(created_at)) / 1000) || 0;
}

/** Pico-USD per token are micro-USD per million tokens. */
function perMillion({ picoUsd }: Rate): number {
  return Number(picoUsd) / 1e6;
}

/** `provider/model`, the name that is unambiguous in gw. */
function nameOf(provider: Provider, id: string): string {
  return id.startsWith(`${provider.name}/`) ? id : `${provider.name}/${id}`;
}

/**
 * `GET /v1/models`: all names that a request can have: aliases, the providers' own names, and `provider/model`. `errors`
 * names the providers that do not answer, `unpriced` models that aren't priced.
 */
async function listModels(
  context: ModelsContext,
  isAnthropic: boolean,
  query: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const { lists, catalog, aliases } = context;
  await lists.refresh();
  const all = lists.all();
  const errors = all.flatMap(({ provider, error }) =>
    error === null ? [] : [{ provider: provider.name, error }],
  );
  const full = all.flatMap(({ provider, models }) =>
    models.map((model) => modelOf(provider, model, catalog)),
  );
  const short = [...Object.keys(aliases), ...all.flatMap(({ models }) => models.map(({ id }) => id))];
  const named = new Map(full.map((model) => [model.id, model]));
  for (const name of new Set(short)) {
    const model = named.has(name) ? undefined : (modelByShortName(context, name) ?? idleAlias(aliases, name));
    if (model) named.set(name, model);
  }
  const data = [...named.values()];
  const unpriced = all.flatMap(({ provider }) => unpricedModels(provider.name, catalog));
  return {
    object: 'list',
    ...(isAnthropic ? anthropicPage(data, query) : { data }),
    ...(errors.length > 0 ? { errors } : {}),
    ...(unpriced.length > 0 ? { unpriced } : {}),
  };
}

/** The models that the maker's newest SDK names and nobody has a price of: a budget refuses them. */
function unpricedModels(provider: string, catalog: Catalog): string[] {
  const names = SDK_MODELS[provider] ?? [];
  return names.filter((name) => !catalog.find(provider, name)).map((name) => `${provider}/${name}`);
}

/** The model that a request with an alias or a provider's own name goes to first; undefined if there is none. */
function modelByShortName({ lists, catalog, aliases, find }: ModelsContext, name: string): Model | undefined {
  const [target] = find(name, 'openai');
  // A name such as `openai/gpt-5` is one of OpenRouter's own, but means the provider `openai` where there is one.
  if (!target || (target.model !== name && !Object.hasOwn(aliases, name))) return undefined;
  const { provider, model } = target;
  return {
    ...modelOf(provider, lists.find(provider, model) ?? { id: model, raw: {} }, catalog),
    ...(Object.hasOwn(aliases, name) ? { alias_for: aliases[name] } : {}),
    id: name,
  };
}

/** An alias that no provider serves now. */
function idleAlias(aliases: ModelsContext['aliases'], name: string): Model | undefined {
  if (!Object.hasOwn(aliases, name)) return undefined;
  return { id: name, object: 'model', created: 0, owned_by: 'gw', pricing: null, alias_for: aliases[name] };
}

/** A page of models as Anthropic's API has them; all of them by default. */
function anthropicPage(all: Model[], { limit, after_id, before_id }: Readonly<Record<string, string>>) {
  const after = all.findIndex(({ id }) => id === after_id) + 1;
  const before = all.findIndex(({ id }) => id === before_id);
  const pageSize = Math.min(Math.max(Number(limit) || all.length, 1), all.length);
  const start = before >= 0 ? Math.max(before - pageSize, 0) : after;
  const data = all.slice(start, before >= 0 ? before : start + pageSize);
  return {
    data: data.map(anthropicModel),
    has_more: before >= 0 ? start > 0 : start + pageSize < all.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function anthropicModel(model: Model): Model {
  const created_at = new Date(Number(model.created) * 1000).toISOString();
  return { display_name: model.id, created_at, ...model, type: 'model' };
}

/** `GET /v1/models/{id}`: takes any name of a model, and returns it as `id`. Throws GwError 404. */
async function getModel(
  context: ModelsContext,
  id: string,
  isAnthropic: boolean,
): Promise<Record<string, unknown>> {
  const { lists, catalog, aliases } = context;
  await lists.refresh();
  const aliased = Object.hasOwn(aliases, id) ? modelByShortName(context, id) : undefined;
  if (aliased) return isAnthropic ? anthropicModel(aliased) : aliased;
  for (const { provider, models } of lists.all()) {
    const entry = models.find((model) => model.id === id || nameOf(provider, model.id) === id);
    if (!entry) continue;
    const model = { ...modelOf(provider, entry, catalog), id };
    return isAnthropic ? anthropicModel(model) : model;
  }
  throw notFound(`no provider lists the model "${id}". See: gw models`, 'model_not_found', 'model');
}
