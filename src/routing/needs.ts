/** Capabilities that a request requires of a model in any tier. */
export interface Needs {
  /** Input and output together. */
  contextTokens?: number;
  tools?: boolean;
  vision?: boolean;
  /** A strict JSON schema for the response. */
  jsonSchema?: boolean;
}

/** A model's capabilities; undefined if unknown. */
export type Capabilities = Needs;

const FEATURES = ['tools', 'vision', 'jsonSchema'] as const;

/** Capabilities that a model is known to lack for a request. Unknown capabilities don't count. */
export function lackOf(capabilities: Capabilities, needs: Needs): (keyof Needs)[] {
  const lack: (keyof Needs)[] = FEATURES.filter(
    (feature) => needs[feature] && capabilities[feature] === false,
  );
  const { contextTokens: room = Number.POSITIVE_INFINITY } = capabilities;
  if ((needs.contextTokens ?? 0) > room) lack.unshift('contextTokens');
  return lack;
}
