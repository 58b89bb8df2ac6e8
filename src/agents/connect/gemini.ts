import type { Pointing, Start } from '../run/start.ts';

/** Gemini CLI speaks only Google's API. */
export function pointGemini({ args }: Start): Pointing {
  return {
    args,
    env: {},
    bypass: {
      reason: "Gemini CLI speaks Google's own API, which gw does not offer",
      remedy:
        'Use an agent that speaks an API of OpenAI or Anthropic, with a Gemini model: gw run -- opencode',
    },
  };
}
