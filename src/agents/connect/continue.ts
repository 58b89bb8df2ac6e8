import { isAbsolute, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { badRequest } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { RUN_KEY } from '../run/environment.ts';
import { optionValue, takeOption } from '../run/options.ts';
import { type Json, parseYaml, textIn } from '../run/settings-text.ts';
import type { Pointing, Start } from '../run/start.ts';
import { type Connecting, defaultsOf, type Endpoint } from './connecting.ts';

const FILE = 'continue.yaml';

/** Continue: the user's assistant, with gw's address in each model. Continue reads no base URL from the environment. */
export function pointContinue(start: Start): Pointing {
  const { values, rest } = takeOption(start.args, ['--config']);
  const option = values.at(-1);
  const path =
    option === undefined
      ? join(start.home, '.continue', 'config.yaml')
      : isAbsolute(option)
        ? option
        : join(start.cwd, option);
  const text = start.files.read(path);
  const env = { [RUN_KEY]: start.key };
  const hub = optionValue(start.args, '--model', '--agent') ?? (text === undefined ? option : undefined);
  if (hub !== undefined) {
    const bypass = {
      reason: `${hub} is read from Continue's hub, with addresses of its own`,
      remedy: 'Use a file: --config FILE',
    };
    return { args: start.args, env, bypass };
  }
  const own = readYaml(text ?? '', path);
  const models: unknown[] = Array.isArray(own.models) ? own.models : [];
  const covered = models.flatMap((model) => pointModel(start, model) ?? []);
  if (covered.length === 0) {
    throw badRequest(
      `${path} has no model with "provider: openai" or "provider: anthropic", which Continue could use through gw. Add one under models:\n  - {name: gw, provider: openai, model: gpt-5.2}`,
    );
  }
  const others = models.length - covered.length;
  const config = { name: 'gw', version: '1.0.0', schema: 'v1', ...own, models: covered };
  return {
    args: ['--config', join(start.folder, FILE), ...rest],
    env,
    files: { [FILE]: stringify(config) },
    notes: others === 0 ? [] : [`${others} of ${models.length} models in ${path} are off: not through gw`],
  };
}

function readYaml(text: string, path: string): Json {
  try {
    const value: unknown = parse(text) ?? {};
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw badRequest(`${path} is not a YAML mapping, so gw can't add its address to it`);
}

/** The model with gw's address; undefined if the model uses another API. */
function pointModel({ origin }: Start, model: unknown): Json | undefined {
  const provider = textIn(model, 'provider');
  if (!isObject(model) || (provider !== 'openai' && provider !== 'anthropic')) return undefined;
  const apiBase = provider === 'openai' ? `${origin}/v1` : `${origin}/v1/`;
  return { ...model, apiBase, apiKey: `\${{ secrets.${RUN_KEY} }}` };
}

/** Continue: adds a model as the first, which is the default. https://docs.continue.dev/reference */
export const connectContinue: Connecting = {
  needsModel: true,
  ownModel: (endpoint) => {
    const models = parseYaml(endpoint.files.read(settingsFile(endpoint)))?.models;
    return Array.isArray(models) ? textIn(models[0], 'model') : undefined;
  },
  edits: (endpoint) => {
    const { origin, key, model } = endpoint;
    const path = settingsFile(endpoint);
    return [
      {
        path,
        format: 'yaml',
        changes: [
          ...defaultsOf([], { name: 'gw', version: '1.0.0', schema: 'v1' }),
          {
            path: ['models', { by: 'name', text: 'gw' }],
            value: {
              name: 'gw',
              provider: 'openai',
              model: model ?? '',
              apiBase: `${origin}/v1`,
              apiKey: key,
              roles: ['chat', 'edit', 'apply'],
            },
          },
        ],
      },
    ];
  },
  notes: () => ['other models chosen in Continue, its autocompletion and hub assistants go around gw'],
};

function settingsFile({ env, home }: Endpoint): string {
  return join(env.CONTINUE_GLOBAL_DIR || join(home, '.continue'), 'config.yaml');
}
