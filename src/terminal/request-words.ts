import { formatUsd } from '../money.ts';
import type { LoggedRequest } from '../store/requests/request-log.ts';

/** What sets a request apart in a list: `X` blocked, `!` anything else that is not ok. */
export function mark({ outcome }: Pick<LoggedRequest, 'outcome'>): string {
  if (outcome === 'ok') return ' ';
  return outcome === 'blocked' ? 'X' : '!';
}

/** An unknown price is not $0, and an estimate is not a fact. */
export function costOf({ costNanoUsd, flags }: Pick<LoggedRequest, 'costNanoUsd' | 'flags'>): string {
  if (flags.includes('unpriced')) return 'unpriced';
  return `${flags.includes('estimated') ? '~' : ''}${formatUsd(costNanoUsd)}`;
}

/** The program that called and its repository, as far as they are known. */
export function originText({ process, repo }: Pick<LoggedRequest, 'process' | 'repo'>): string {
  return `${process || 'unknown'}${repo && ` in ${repo}`}`;
}

/** The last part of a repository's path. */
export function shortRepo(repo: string): string {
  return repo.replace(/^.*\/(?=.)/, '');
}

/** The model with its provider in front; the sandbox's models carry it in their own name. */
export function servedBy({ provider, model }: Pick<LoggedRequest, 'provider' | 'model'>): string {
  if (provider === '') return 'nobody';
  return model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}
