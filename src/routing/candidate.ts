/** A target that the router may choose: a model at a provider, reached with one of its keys. */
export interface Candidate {
  provider: string;
  model: string;
  keyId?: string;
  /** Targets of the lowest number are tried first. */
  priority: number;
  /** How strongly it is preferred among targets of one priority: above 0, usually 1. */
  weight: number;
}

/** The three reaches that a failure can have; health is kept under these names. */
export interface Reach {
  account: string;
  key: string;
  target: string;
  /** All three. */
  ids: readonly string[];
}

/** Targets live long and are asked for at each request: their names are made once. */
const reaches = new WeakMap<Candidate, Reach>();

export function reachOf(target: Candidate): Reach {
  let reach = reaches.get(target);
  if (!reach) {
    const { provider, keyId = '', model } = target;
    const account = `account:${provider}`;
    const key = `key:${provider}/${keyId}`;
    const id = `target:${provider}/${keyId}/${model}`;
    reach = { account, key, target: id, ids: [account, key, id] };
    reaches.set(target, reach);
  }
  return reach;
}

export function accountOf(target: Candidate): string {
  return reachOf(target).account;
}

export function keyOf(target: Candidate): string {
  return reachOf(target).key;
}

export function targetId(target: Candidate): string {
  return reachOf(target).target;
}
