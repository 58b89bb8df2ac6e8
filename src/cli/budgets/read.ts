import { isAbsolute, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { repositoryOf } from '../../attribution/repository.ts';
import { type NanoUsd, parseUsd } from '../../money.ts';
import type { BudgetChange } from '../../operations/budget-scope.ts';
import { EACH_CHOICES, type EachKind, isEachKind } from '../../store/ledger/terms.ts';
import { parseDuration } from '../../terminal/time.ts';
import { usageError } from '../exit.ts';

/** Parses a cap in dollars. */
export function readAmount(text: string): NanoUsd {
  const amount = parseUsd(text);
  if (amount === undefined)
    throw usageError(`"${text}" is not an amount: use dollars such as 20, 0.50 or $5, up to 1,000,000`);
  return amount;
}

/** The periods of a cap that is not a rate. */
export const LASTING_PERIODS = ['daily', 'weekly', 'monthly', 'lifetime'] as const;
export type LastingPeriod = (typeof LASTING_PERIODS)[number];

/** Parses `50,80,95`. */
export function readAlerts(text: string | undefined): Pick<BudgetChange, 'alertPercent' | 'alertPercents'> {
  const percents = text?.split(',').map(readPercent);
  return percents && percents.length > 1 ? { alertPercents: percents } : { alertPercent: percents?.[0] };
}

/** Parses `80` or `80%`. The store checks the bounds. */
export function readPercent(text: string): number {
  const percent = /^(\d{1,3})%?$/.exec(text)?.[1];
  if (percent === undefined)
    throw usageError(`"${text}" is not a percentage: use a whole number from 1 to 100`);
  return Number(percent);
}

/** Parses `block`, `ask` or `fallback:openai/gpt-5-mini,ollama/qwen3`, and the share from which on the latter is used. */
export function readOnLimit(
  text: string | undefined,
  from: string | undefined,
): Pick<BudgetChange, 'onLimit' | 'fallback' | 'fallbackPercent'> {
  const example = 'such as --on-limit fallback:openai/gpt-5-mini,ollama/qwen3';
  const [, list] = /^fallback(?::(.*))?$/s.exec(text ?? '') ?? [];
  const fallback = list?.split(',').map((name) => name.trim());
  if (fallback?.every((name) => /^[^\s|]+$/.test(name)))
    return {
      onLimit: 'fallback',
      fallback,
      fallbackPercent: from === undefined ? undefined : readPercent(from),
    };
  if (from !== undefined) throw usageError(`--from belongs to cheaper models: give them too, ${example}`);
  if (text === undefined || text === 'block' || text === 'ask') return { onLimit: text };
  if (text.startsWith('fallback'))
    throw usageError(`"${text}" does not name the models to go to: separate them by commas, ${example}`);
  throw usageError(`"${text}" is not what a budget can do at its limit: use block, ask or fallback:MODEL`);
}

/** Parses `session` or `label:customer`. */
export function readEachKind(text: string): EachKind {
  if (isEachKind(text)) return text;
  throw new InvalidArgumentError(`Allowed choices are ${EACH_CHOICES}.`);
}

/** Parses a share of a window, `20%` or `20`, as millionths. */
export function readShare(text: string, option: string): number {
  const percent = readPercent(text);
  if (percent >= 1 && percent <= 99) return percent * 10_000;
  throw usageError(`${option} ${text} is not a share of a window: use 1% to 99%`);
}

/** Parses an amount in a sliding window: `2/hour`, `$0.50/10m`. */
export function readRate(text: string): { capNanoUsd: NanoUsd; windowMs: number } {
  const [amount, time, ...rest] = text.split('/');
  const windowMs = parseDuration(time ?? '');
  if (windowMs === undefined || rest.length > 0)
    throw usageError(`"${text}" is not a rate: use an amount and a time, such as 2/hour or 0.50/10m`);
  return { capNanoUsd: readAmount(amount ?? ''), windowMs };
}

/** Root of the git repository that contains a path. */
export function readRepo(path: string): string {
  const repo = repositoryOf(path);
  if (repo !== '') return repo;
  throw usageError(`${resolve(path)} is not in a git repository. To make it one: git init`);
}

/** Like `readRepo`, for the repository of an existing budget, which may have been deleted. */
export function readOldRepo(path: string): string {
  return repositoryOf(path) || (isAbsolute(path) ? path : readRepo(path));
}
