import { formatUsd, type NanoUsd } from '../money.ts';

/** The mark of a request in a list: `X` if it was blocked, `!` for any other outcome but ok. */
export function mark({ outcome }: { outcome: string }): string {
  if (outcome === 'ok') return ' ';
  return outcome === 'blocked' ? 'X' : '!';
}

/** The cost, `unpriced` if the price is unknown, `not billed` under a subscription, with `~` if it is estimated. */
export function costOf({ costNanoUsd, flags }: { costNanoUsd: NanoUsd; flags: readonly string[] }): string {
  if (flags.includes('unpriced')) return 'unpriced';
  if (flags.includes('not_billed')) return 'not billed';
  return `${flags.includes('estimated') ? '~' : ''}${formatUsd(costNanoUsd)}`;
}

/** The calling program and its repository, if they are known. */
export function originText({ process, repo }: Record<'process' | 'repo', string | null>): string {
  return `${process || 'unknown'}${repo ? ` in ${repo}` : ''}`;
}

/** The name of a repository: the last part of its path. */
export function shortRepo(repo: string): string {
  return repo.replace(/^.*\/(?=.)/, '');
}

/** `provider/model`. The names of sandbox models already start with `sandbox/`. */
export function servedBy({ provider, model }: Record<'provider' | 'model', string>): string {
  if (provider === '') return 'nobody';
  return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}
