/** What a model is known to lack; what nobody knows of it is left out. */
export interface KnownCapabilities {
  tools?: false;
  vision?: false;
  /** Answers that keep to a JSON schema strictly. */
  jsonSchema?: false;
}

type Lack = keyof KnownCapabilities;

/** By model, from the makers' documentation; hosts put their names before. Without a host's own way round it. */
const LACKS: readonly (readonly [RegExp, readonly Lack[]])[] = [
  [/^gpt-3\.5-/, ['vision', 'jsonSchema']],
  [/^gpt-4(-\d{4}|-32k.*)?$/, ['vision', 'jsonSchema']],
  [/^gpt-4-(turbo|1106|0125|vision)/, ['jsonSchema']],
  [/^gpt-4o-2024-05-13$/, ['jsonSchema']],
  [/^o1-(mini|preview)/, ['tools', 'vision', 'jsonSchema']],
  [/^o3-mini/, ['vision']],
  [/^claude-(2|instant)/, ['tools', 'vision']],
  [/^deepseek-(chat|reasoner|v3|r1)/, ['vision']],
  [/^(llama-?3(\.[13])?|meta-llama-3(\.[13])?)-/, ['vision']],
  [/^(mixtral|open-mistral|codestral|ministral)/, ['vision']],
];

/** What a model lacks, by its name with or without that of its host. */
export function capabilitiesOf(model: string): KnownCapabilities {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const lacks = LACKS.filter(([pattern]) => pattern.test(name)).flatMap(([, all]) => all);
  return Object.fromEntries(lacks.map((lack) => [lack, false]));
}
