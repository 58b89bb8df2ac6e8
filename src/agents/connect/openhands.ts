import { join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { hasFlag } from '../run/options.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Pointing, Start } from '../run/start.ts';

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
