/** What a request asks of a model, whatever its tier. */
export interface Needs {
  /** Input and output together. */
  contextTokens?: number;
  tools?: boolean;
  vision?: boolean;
  /** A strict JSON schema for the answer. */
  jsonSchema?: boolean;
}

/** What a model can do; what is not known is left out. */
export interface Capabilities {
  contextTokens?: number;
  tools?: boolean;
  vision?: boolean;
  jsonSchema?: boolean;
}

const FEATURES = ['tools', 'vision', 'jsonSchema'] as const;

/** What a model is known to lack for a request; what is not known about it is not held against it. */
export function lackOf(capabilities: Capabilities, needs: Needs): (keyof Needs)[] {
  const lack: (keyof Needs)[] = FEATURES.filter(
    (feature) => needs[feature] && capabilities[feature] === false,
  );
  const { contextTokens: room = Number.POSITIVE_INFINITY } = capabilities;
  if ((needs.contextTokens ?? 0) > room) lack.unshift('contextTokens');
  return lack;
}
