import { join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { hasFlag, optionValue } from '../run/options.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';

/** Copilot CLI with a custom provider. gw can't meter Copilot's own service. */
export function pointCopilot({ args, env, origin, key }: Start): Pointing {
  const model = optionValue(args, '--model') ?? env.COPILOT_MODEL ?? env.COPILOT_PROVIDER_MODEL_ID;
  if (!model) {
    throw badRequest(
      'Copilot CLI needs a model for its own provider. Add: --model MODEL, or set COPILOT_MODEL',
    );
  }
  const type = env.COPILOT_PROVIDER_TYPE ?? (/claude/i.test(model) ? 'anthropic' : 'openai');
  const isAnthropic = type === 'anthropic';
  const wire = env.COPILOT_PROVIDER_WIRE_API ?? (/^gpt-[5-9]/.test(model) ? 'responses' : undefined);
  return {
    args,
    env: {
      COPILOT_PROVIDER_BASE_URL: isAnthropic ? origin : `${origin}/v1`,
      COPILOT_PROVIDER_TYPE: isAnthropic ? 'anthropic' : 'openai',
      COPILOT_PROVIDER_API_KEY: key,
      // Both override the key.
      COPILOT_PROVIDER_BEARER_TOKEN: undefined,
      COPILOT_PROVIDER_API_KEY_COMMAND: undefined,
      COPILOT_PROVIDER_TRANSPORT: 'http',
      ...(wire !== undefined && !isAnthropic && { COPILOT_PROVIDER_WIRE_API: wire }),
      // Otherwise /model can switch to a model of Copilot's service.
      COPILOT_OFFLINE: 'true',
    },
  };
}

/** OpenHands: LiteLLM's address, key and model as variables, and the flag that makes them override its settings. */
export function pointOpenHands({ args, env, home, files, origin, key }: Start): Pointing {
  const file = join(env.OPENHANDS_PERSISTENCE_DIR || join(home, '.openhands'), 'agent_settings.json');
  const model = env.LLM_MODEL || textIn(objectIn(parseObject(files.read(file)), 'llm'), 'model');
  if (model === undefined) {
    throw badRequest(
      'OpenHands needs a model. Set LLM_MODEL, such as openai/gpt-5.2 or anthropic/claude-sonnet-4-5',
    );
  }
  const provider = model.includes('/') ? model.split('/')[0] : /^claude/.test(model) ? 'anthropic' : 'openai';
  const flag = '--override-with-envs';
  return {
    args: hasFlag(args, flag) ? args : [flag, ...args],
    env: {
      LLM_MODEL: model,
      LLM_API_KEY: key,
      // LiteLLM appends /v1/messages to Anthropic's address.
      LLM_BASE_URL: provider === 'anthropic' ? origin : `${origin}/v1`,
    },
    ...(provider !== 'openai' &&
      provider !== 'anthropic' && {
        bypass: {
          reason: `the model ${model} speaks an API that gw does not offer`,
          remedy: 'Use a model whose name starts with openai/ or anthropic/',
        },
      }),
  };
}

const COVERED = ['openai', 'anthropic'];

/** Crush: addresses of the built-in providers, as variables. A settings file that sets addresses overrides them. */
export function pointCrush(start: Start): Pointing {
  const bypass = bypassOf(start);
  return {
    args: start.args,
    env: { OPENAI_API_ENDPOINT: `${start.origin}/v1`, ANTHROPIC_API_ENDPOINT: start.origin },
    ...(bypass && { bypass }),
  };
}

function bypassOf(start: Start): Bypass | undefined {
  const file = settingsFiles(start).find((path) => setsAddress(path, start.files.read(path)));
  if (file === undefined) return undefined;
  return {
    reason: `${file} sets providers of its own, which beat the environment`,
    remedy: `Remove the providers and models from it that are not openai or anthropic at their own address`,
  };
}

/** Checks Crush's JSON, or the shell script that newer versions read. */
function setsAddress(path: string, text: string | undefined): boolean {
  if (text === undefined) return false;
  if (path.endsWith('rc')) return /^[ \t]*provider\s+add\b|_API_ENDPOINT=/m.test(text);
  const settings = parseObject(text);
  const providers = objectIn(settings, 'providers');
  const models = objectIn(settings, 'models');
  return (
    Object.keys(providers).some(
      (id) => !COVERED.includes(id) || textIn(objectIn(providers, id), 'base_url') !== undefined,
    ) ||
    Object.keys(models).some((size) => {
      const provider = textIn(objectIn(models, size), 'provider');
      return provider !== undefined && !COVERED.includes(provider);
    })
  );
}

function settingsFiles({ env, home, cwd }: Start): string[] {
  const config = env.CRUSH_GLOBAL_CONFIG || join(env.XDG_CONFIG_HOME || join(home, '.config'), 'crush');
  const data = join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'crush');
  return [
    ...['.crushrc', 'crushrc', '.crush.json', 'crush.json'].map((name) => join(cwd, name)),
    join(config, 'crushrc'),
    join(config, 'crush.json'),
    join(data, 'crush.json'),
  ];
}
