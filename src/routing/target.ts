/** A model at a provider, by one of its keys. */
export interface Target {
  provider: string;
  model: string;
  keyId?: string;
  /** Targets of the lowest number are tried first. */
  priority: number;
  /** How strongly it is preferred among targets of one priority: above 0, usually 1. */
  weight: number;
}

/** The three reaches that a failure can have; health is kept under these names. */
export function accountOf({ provider }: Target): string {
  return `account:${provider}`;
}

export function keyOf({ provider, keyId }: Target): string {
  return `key:${provider}/${keyId ?? ''}`;
}

export function targetId({ provider, keyId, model }: Target): string {
  return `target:${provider}/${keyId ?? ''}/${model}`;
}
