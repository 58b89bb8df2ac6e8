import { join } from 'node:path';
import { type Connecting, configHome, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

const FREE_MODEL_LISTED = JSON.stringify({ provider: { openai: { models: { [FREE_MODEL]: {} } } } });

/** opencode. https://opencode.ai/docs/config */
export const connectOpencode = connecting('opencode', ['config.json', 'opencode.json', 'opencode.jsonc']);

/** Kilo Code's command line, a fork of opencode. */
export const connectKilo = connecting('kilo', ['config.json', 'kilo.json', 'kilo.jsonc']);

/**
 * The built-in providers are pointed at gw, so that the user's choice of model stays. A model of `--model` gets a provider
 * of its own: the built-in ones know only the models of models.dev.
 */
function connecting(folder: 'opencode' | 'kilo', names: readonly string[]): Connecting {
  return {
    needsModel: false,
    edits: (endpoint) => {
      const { origin, key, model } = endpoint;
      const options = { baseURL: `${origin}/v1`, apiKey: key };
      return [
        {
          path: configFile(endpoint, folder, names),
          format: 'json',
          changes: [
            ...membersOf(['provider', 'openai', 'options'], options),
            ...membersOf(['provider', 'anthropic', 'options'], options),
            ...(model === undefined ? [] : ownProvider(model, options)),
          ],
        },
      ];
    },
    // Models that aren't listed have to be declared.
    proof: (model) =>
      model === undefined
        ? {
            model: `openai/${FREE_MODEL}`,
            env: { [`${folder.toUpperCase()}_CONFIG_CONTENT`]: FREE_MODEL_LISTED },
          }
        : { model: `gw/${model}` },
    notes: () => [`models of other providers than openai, anthropic and gw go around gw`],
  };
}

function ownProvider(model: string, options: { baseURL: string; apiKey: string }) {
  return [
    ...membersOf(['provider', 'gw'], { npm: '@ai-sdk/openai-compatible', name: 'gw' }),
    ...membersOf(['provider', 'gw', 'options'], options),
    { path: ['provider', 'gw', 'models', model], value: { name: model } },
    ...membersOf([], { model: `gw/${model}`, small_model: `gw/${model}` }),
  ];
}

/** Where there are several files, the last one wins. */
function configFile(endpoint: Endpoint, folder: string, names: readonly string[]): string {
  const base = join(configHome(endpoint), folder);
  const found = names.findLast((name) => endpoint.files.read(join(base, name)) !== undefined);
  return join(base, found ?? (folder === 'kilo' ? 'kilo.jsonc' : 'opencode.json'));
}
