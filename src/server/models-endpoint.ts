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
    created: 0,
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
    id: nameOf(provider, id),
    object: 'model',
    owned_by: provider.name,
  };
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
    ...(isAnthropic ? anthropicPage(data) : { data }),
    ...(errors.length > 0 ? { errors } : {}),
  };
}

/** The list as Anthropic's clients read it: one page, with what they expect of each model. */
function anthropicPage(data: Model[]) {
  return {
    data: data.map(anthropicModel),
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function anthropicModel(model: Model): Model {
  const created_at = new Date(Number(model.created) * 1000).toISOString();
  return { display_name: model.id, created_at, ...model, type: 'model' };
}

/** `GET /v1/models/{id}`, by full name or by the provider's own. Throws GwError 404. */
export async function getModel(
  { lists, catalog }: ModelsContext,
  id: string,
  isAnthropic: boolean,
): Promise<Record<string, unknown>> {
  await lists.refresh();
  for (const { provider, models } of lists.all()) {
    const found = models.find((model) => model.id === id || nameOf(provider, model.id) === id);
    if (!found) continue;
    const model = modelOf(provider, found, catalog);
    return isAnthropic ? anthropicModel(model) : model;
  }
  throw notFound(`no provider lists the model "${id}". See: gw models`, 'model_not_found', 'model');
}
