/** Capabilities that a model is known to lack; undefined if unknown. */
export interface KnownCapabilities {
  tools?: false;
  vision?: false;
  /** Structured outputs that strictly follow a JSON schema. */
  jsonSchema?: false;
}

type Lack = keyof KnownCapabilities;

/**
 * Missing capabilities by model, from the makers' documentation of November 2026. Hosts prefix their own name, and
 * Ollama appends a size. Uncertain models are omitted: a missing entry costs a failed attempt, a wrong one costs the
 * dearer tier every time.
 */
const LACKS: readonly (readonly [RegExp, readonly Lack[]])[] = [
  [/^gpt-3\.?5-/, ['vision', 'jsonSchema']],
  [/^gpt-(3\.?5-turbo-(0301|instruct)|4(-32k)?-0314)/, ['tools']],
  [/^gpt-4(-\d{4}|-32k.*)?$/, ['vision', 'jsonSchema']],
  [/^gpt-4-(turbo-preview|1106|0125)/, ['vision', 'jsonSchema']],
  [/^gpt-4-turbo/, ['jsonSchema']],
  [/^gpt-4-(1106-)?vision/, ['tools', 'jsonSchema']],
  [/^gpt-4o-2024-05-13$/, ['jsonSchema']],
  [/^chatgpt-4o/, ['tools', 'jsonSchema']],
  [/^gpt-(4o-(mini-)?)?audio/, ['vision', 'jsonSchema']],
  [/^gpt-5-chat/, ['tools']],
  [/^gpt-oss/, ['vision']],
  [/^o1-(mini|preview)/, ['tools', 'vision', 'jsonSchema']],
  [/^o3-mini/, ['vision']],
  [/^claude-(2|instant)/, ['tools', 'vision', 'jsonSchema']],
  [/^claude-(3|(opus|sonnet)-4(-0|[-@]2025\d+)?$)/, ['jsonSchema']],
  [/^gemini-(pro|1\.0-pro(-\d+)?)$/, ['vision', 'jsonSchema']],
  [/^deepseek-(chat|reasoner|v3|r1|v4-pro)/, ['vision']],
  [/^deepseek-(chat|reasoner|flash|v4)/, ['jsonSchema']],
  [/^(meta-)?llama-?(2|3(\.[13])?)([-:]|$)/, ['vision']],
  [/^llama-?3\.2(-[13]b|:[13]b|:latest|$)/, ['vision']],
  [/^((open-)?mixtral|(open-)?mistral-(7b|nemo)|codestral|devstral-(medium|2512|small-250[57]))/, ['vision']],
  [/^(ministral-[38]b-2410|mistral-large-2[34]|mistral-small-(24|2501))/, ['vision']],
  [/^grok-(beta|2(-1212|-latest)?|3(-mini)?(-fast)?(-latest)?|code-fast.*)$/, ['vision']],
  [/^kimi-k2([-:](?!\d\b)|$)/, ['vision']],
  [/^glm-(4\.[567]|5)(-(air|airx|x|flash|flashx))?$/, ['vision']],
  [/^minimax-m2/, ['vision']],
  [/^(qwq|qwen-?(2|2\.5|3)([-:]|$))(?!.*(vl|omni))/, ['vision']],
  [/^phi-?(3|3\.5|4)([-:]|$)(?!.*(vision|multimodal))/, ['vision']],
  [/^gemma(-?2|-?3[-:]1b|:|-7b|-2b)/, ['vision']],
  [/^command-(r|a-03)/, ['vision']],
];

/** A fine-tuned model, `ft:gpt-4o-mini:mine::id`, has the capabilities of its base model. */
const TUNED = /^ft:/;

const cache = new Map<string, KnownCapabilities>();
const MAX_CACHED = 1_000;

/** The capabilities that a model lacks, by its name with or without a host's prefix. */
export function capabilitiesOf(model: string): KnownCapabilities {
  const cached = cache.get(model);
  if (cached) return cached;
  const capabilities = findCapabilities(model);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(model, capabilities);
  return capabilities;
}

function findCapabilities(model: string): KnownCapabilities {
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(TUNED, '');
  const lacks = LACKS.filter(([pattern]) => pattern.test(name)).flatMap(([, all]) => all);
  return Object.fromEntries(lacks.map((lack) => [lack, false]));
}
