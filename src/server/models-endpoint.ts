import { notFound } from '../errors.ts';
import type { ListedModel, ModelLists } from '../providers/model-lists.ts';
import type { Provider } from '../providers/registry.ts';

/** A model in OpenAI's shape, with all that its provider says of it. */
function modelOf(provider: Provider, { id, raw }: ListedModel): Record<string, unknown> {
  return { created: 0, ...raw, id: nameOf(provider, id), object: 'model', owned_by: provider.name };
}

/** `provider/model`, the name under which gw serves it without doubt. */
function nameOf(provider: Provider, id: string): string {
  return id.startsWith(`${provider.name}/`) ? id : `${provider.name}/${id}`;
}

/** `GET /v1/models`: what the providers list, merged. A provider that does not answer is named in `errors`. */
export async function listModels(lists: ModelLists): Promise<Record<string, unknown>> {
  await lists.refresh();
  const all = lists.all();
  const errors = all.flatMap(({ provider, error }) =>
    error === null ? [] : [{ provider: provider.name, error }],
  );
  return {
    object: 'list',
    data: all.flatMap(({ provider, models }) => models.map((model) => modelOf(provider, model))),
    ...(errors.length > 0 ? { errors } : {}),
  };
}

/** `GET /v1/models/{id}`, by full name or by the provider's own. Throws GwError 404. */
export async function getModel(lists: ModelLists, id: string): Promise<Record<string, unknown>> {
  await lists.refresh();
  for (const { provider, models } of lists.all()) {
    const found = models.find((model) => model.id === id || nameOf(provider, model.id) === id);
    if (found) return modelOf(provider, found);
  }
  throw notFound(`no provider lists the model "${id}". See: gw models`, 'model_not_found', 'model');
}
