import { badRequest } from '../../errors.ts';
import { optionValue } from '../run/options.ts';
import type { Pointing, Start } from '../run/start.ts';

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
