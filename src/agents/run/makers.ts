/** Whether gw sends a maker's models to the maker's own API, where the maker's agent offers more features. */
export interface Makers {
  anthropic: boolean;
  openai: boolean;
}

/**
 * Model names of Claude Code (https://code.claude.com/docs/en/model-config), Anthropic and OpenAI, with and without
 * gw's provider prefix.
 */
const NAMES: Readonly<Record<keyof Makers, RegExp>> = {
  anthropic: /^(?:default|best|sonnet|opus|haiku|opusplan|fable)(?:\[1m\])?$|^(?:anthropic\/)?claude-/,
  openai: /^(?:openai\/)?(?:gpt-(?!oss)|o\d|codex-|chatgpt-)/,
};

/** The maker of a model, by its name; undefined for other makers. */
export function makerOf(model: string): keyof Makers | undefined {
  return (['anthropic', 'openai'] as const).find((maker) => NAMES[maker].test(model));
}

/** Whether gw sends all these models to their maker's API. An undefined model is the agent's default, its maker's. */
export function isReached(
  makers: Makers,
  maker: keyof Makers,
  models: readonly (string | undefined)[],
): boolean {
  return makers[maker] && models.every((model) => !model || makerOf(model) === maker);
}
