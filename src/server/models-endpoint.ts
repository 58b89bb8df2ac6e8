import { notFound } from '../errors.ts';
import type { Catalog } from '../pricing/catalog.ts';
import { modelLimits } from '../pricing/limits.ts';
import type { Rate } from '../pricing/rate.ts';
import type { ListedModel, ModelLists } from '../providers/model-lists.ts';
import type { Provider } from '../providers/registry.ts';

export interface ModelsContext {
  lists: ModelLists;
  catalog: Catalog;
}

type Model = Record<string, unknown> & { id: string };

/** A model in OpenAI's shape: all that its provider says of it, what it takes in and writes, and what it costs. */
function modelOf(provider: Provider, { id, raw }: ListedModel, catalog: Catalog): Model {
  const limits = modelLimits(provider.name, id);
  const card = catalog.find(provider.name, id);
  return {
    context_window: limits?.contextTokens ?? null,
    max_output_tokens: limits?.maxOutputTokens ?? null,
    // Dollars per million tokens; null: nobody knows.
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

/** Seconds; 0 where nobody tells. Anthropic writes it as a date. */
function createdAt({ created, created_at }: ListedModel['raw']): number {
  if (Number.isInteger(created)) return Number(created);
  return Math.floor(Date.parse(String(created_at)) / 1000) || 0;
}

/** Pico-USD per token are micro-USD per million tokens. */
function perMillion({ picoUsd }: Rate): number {
  return Number(picoUsd) / 1e6;
}

/** `provider/model`, the name under which gw serves it without doubt. */
function nameOf(provider: Provider, id: string): string {
  return id.startsWith(`${provider.name}/`) ? id : `${provider.name}/${id}`;
}

/** `GET /v1/models`: what the providers list, merged. A provider that does not answer is named in `errors`. */
export async function listModels(
  { lists, catalog }: ModelsContext,
  isAnthropic: boolean,
  query: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  await lists.refresh();
  const all = lists.all();
  const errors = all.flatMap(({ provider, error }) =>
    error === null ? [] : [{ provider: provider.name, error }],
  );
  const data = all.flatMap(({ provider, models }) =>
    models.map((model) => modelOf(provider, model, catalog)),
  );
  return {
    object: 'list',
    ...(isAnthropic ? anthropicPage(data, query) : { data }),
    ...(errors.length > 0 ? { errors } : {}),
  };
}

/** The page that one of Anthropic's clients asks for, with what it expects of each model; all of them by default. */
function anthropicPage(all: Model[], { limit, after_id, before_id }: Readonly<Record<string, string>>) {
  const after = all.findIndex(({ id }) => id === after_id) + 1;
  const before = all.findIndex(({ id }) => id === before_id);
  const most = Math.min(Math.max(Number(limit) || all.length, 1), all.length);
  const start = before >= 0 ? Math.max(before - most, 0) : after;
  const data = all.slice(start, before >= 0 ? before : start + most);
  return {
    data: data.map(anthropicModel),
    has_more: before >= 0 ? start > 0 : start + most < all.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function anthropicModel(model: Model): Model {
  const created_at = new Date(Number(model.created) * 1000).toISOString();
  return { display_name: model.id, created_at, ...model, type: 'model' };
}

/** `GET /v1/models/{id}`, by full name or by the provider's own, and under the name asked for. Throws GwError 404. */
export async function getModel(
  { lists, catalog }: ModelsContext,
  id: string,
  isAnthropic: boolean,
): Promise<Record<string, unknown>> {
  await lists.refresh();
  for (const { provider, models } of lists.all()) {
    const found = models.find((model) => model.id === id || nameOf(provider, model.id) === id);
    if (!found) continue;
    const model = { ...modelOf(provider, found, catalog), id };
    return isAnthropic ? anthropicModel(model) : model;
  }
  throw notFound(`no provider lists the model "${id}". See: gw models`, 'model_not_found', 'model');
}
