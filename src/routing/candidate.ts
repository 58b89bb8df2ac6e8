/** A target that the router may choose: a model at a provider, reached with one of its keys. */
export interface Candidate {
  provider: string;
  model: string;
  keyId?: string;
  /** Lower numbers are tried first. */
  priority: number;
  /** Share of the traffic relative to candidates of the same priority: above 0, usually 1. */
  weight: number;
}

/** Ids of everything that a failure can affect. Health is stored by these ids. */
export interface Reach {
  account: string;
  key: string;
  target: string;
  /** All three ids. */
  ids: readonly string[];
}

/** Built once per candidate: candidates live long, and every request needs their ids. */
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

export const accountOf = (target: Candidate): string => reachOf(target).account;

export const keyOf = (target: Candidate): string => reachOf(target).key;

export const targetId = (target: Candidate): string => reachOf(target).target;
