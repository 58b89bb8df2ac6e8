/** Makers of models at whose own API their agents do more than elsewhere: whether gw's requests end there. */
export interface Makers {
  anthropic: boolean;
  openai: boolean;
}

/**
 * Names of Claude Code (https://code.claude.com/docs/en/model-config), of Anthropic and of OpenAI, with and without gw's
 * provider in front.
 */
const NAMES: Readonly<Record<keyof Makers, RegExp>> = {
  anthropic: /^(?:default|best|sonnet|opus|haiku|opusplan|fable)(?:\[1m\])?$|^(?:anthropic\/)?claude-/,
  openai: /^(?:openai\/)?(?:gpt-(?!oss)|o\d|codex-|chatgpt-)/,
};

/** Whose model a name is; undefined for other makers. */
export function makerOf(model: string): keyof Makers | undefined {
  return (['anthropic', 'openai'] as const).find((maker) => NAMES[maker].test(model));
}

/** Whether each of the models that are named is the maker's, and it is reached. An agent's default is its maker's. */
export function isReached(
  makers: Makers,
  maker: keyof Makers,
  models: readonly (string | undefined)[],
): boolean {
  return makers[maker] && models.every((model) => !model || makerOf(model) === maker);
}
