import { takeOption } from './options.ts';
import type { Pointing, Start } from './start.ts';

/** Qwen Code: variables, and the flag that makes it read them. */
export function pointQwen(start: Start): Pointing {
  const auth = takeOption(start.args, ['--auth-type']);
  const type = auth.values.at(-1) ?? 'openai';
  const address = takeOption(auth.rest, ['--openai-base-url', '--openai-api-key']);
  const isCovered = type === 'openai' || type === 'anthropic';
  return {
    args: ['--auth-type', type, ...address.rest],
    env: {},
    notes:
      address.values.length > 0 ? ["left out --openai-base-url and --openai-api-key: gw's are used"] : [],
    ...(!isCovered && {
      bypass: { reason: `--auth-type ${type} has a service of its own`, remedy: 'Use: --auth-type openai' },
    }),
  };
}
