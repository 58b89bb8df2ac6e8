import { badRequest } from '../errors.ts';
import { labelName, parseLabels } from '../labels.ts';
import { type NanoUsd, parseUsd, usdNumber } from '../money.ts';
import type { Scope } from '../store/budgets/budgets.ts';
import {
  type BudgetPeriod,
  EACH_CHOICES,
  type LabelKind,
  type OnLimit,
  type RunawayAction,
} from '../store/ledger/terms.ts';
import type { Input } from './operation.ts';
import type { BudgetView, removeBudget, setBudget } from './schemas/budgets.ts';

/** A scope in JSON: `value` is null for a cap for each of a kind. */
export interface ScopeJson {
  kind: 'repo' | 'run' | 'key' | 'session' | 'agent' | 'model' | 'provider' | LabelKind;
  value: string | null;
}

/** The scope of a JSON one; undefined for a repository, which has a field of its own. Throws GwError 400. */
export function scopeFromJson({ kind, value }: ScopeJson): Scope | undefined {
  if (value !== null) return kind === 'repo' ? undefined : { kind, value };
  if (kind === 'repo' || kind === 'run')
    throw badRequest(`"scope" is for each ${kind}: there is a cap for each ${EACH_CHOICES}`, 'scope');
  return { kind: 'each', value: kind };
}

export function scopeToJson({ kind, value }: Scope): ScopeJson {
  return kind === 'each' ? { kind: value as ScopeJson['kind'], value: null } : { kind, value };
}

/** The scope of `customer=acme`. Throws GwError 400 unless it is one label. */
export function labelScope(text: string, param: string): Scope {
  const [label, ...others] = parseLabels(text, param);
  if (!label || others.length > 0)
    throw badRequest(`"${param}" is "${text}": a budget is for one label`, param);
  return { kind: `label:${label[0]}`, value: label[1] };
}

/** A scope as query parameters: `?key=ci`, `?per=session`. */
export type ScopeQuery = Omit<Input<typeof removeBudget>, 'repo'>;

/** Throws GwError 400 for more than one. */
export function scopeFromQuery({ label, per, ...others }: ScopeQuery): Scope | undefined {
  const of = label ? labelScope(label, 'label') : undefined;
  const named = Object.entries({ ...others, each: per, ...(of && { [of.kind]: of.value }) }).filter(
    ([, value]) => value,
  );
  const [[kind, value] = ['', ''], ...more] = named;
  if (more.length > 0)
    throw badRequest(
      'a budget is for one thing: use one of run, key, session, agent, model, provider, label and per',
    );
  // The names are those of the object above.
  return value ? { kind: kind as Scope['kind'], value } : undefined;
}

export function scopeToQuery(scope: Scope | undefined): ScopeQuery {
  if (scope === undefined) return {};
  const name = labelName(scope.kind);
  if (name !== undefined) return { label: `${name}=${scope.value}` };
  return { [scope.kind === 'each' ? 'per' : scope.kind]: scope.value };
}

/** The name of a listed budget. */
export function budgetNameOf({ project_id, period, repo, scope }: BudgetView): BudgetName {
  const of = scope === null ? undefined : scopeFromJson(scope);
  return { project: project_id, period, ...(repo === null ? {} : { repo }), ...(of ? { scope: of } : {}) };
}

export interface BudgetName {
  project: string;
  period: BudgetPeriod;
  /** Root of a git repository; undefined for the budget of the whole project. */
  repo?: string | undefined;
  /** A scope other than a repository. */
  scope?: Scope | undefined;
}

export interface BudgetChange extends BudgetName {
  capNanoUsd: NanoUsd;
  alertPercent?: number | undefined;
  /** Several of them; used instead of `alertPercent`. */
  alertPercents?: readonly number[] | undefined;
  windowMs?: number | undefined;
  /** Default: as it is. */
  onLimit?: OnLimit | undefined;
  /** With `fallback`: the cheaper models. */
  fallback?: string[] | undefined;
  fallbackPercent?: number | undefined;
  /** Default: as it is. */
  runaway?: RunawayAction | undefined;
}

/** The body of the API's request for a change. */
export function budgetBody(change: BudgetChange): Input<typeof setBudget> {
  const { project, capNanoUsd, windowMs, scope, ...terms } = change;
  return {
    project_id: project,
    period: terms.period,
    cap_usd: usdNumber(capNanoUsd),
    alert_percent: terms.alertPercent,
    alert_percents: terms.alertPercents && [...terms.alertPercents],
    window_seconds: windowMs === undefined ? undefined : windowMs / 1_000,
    on_limit: terms.onLimit,
    fallback: terms.fallback,
    fallback_percent: terms.fallbackPercent,
    runaway: terms.runaway,
    repo: terms.repo,
    scope: scope && scopeToJson(scope),
  };
}

/** An amount in a body. Throws GwError 400. */
export function nanoUsdOf(usd: number | string, field: string): NanoUsd {
  const amount = parseUsd(decimal(usd));
  if (amount !== undefined) return amount;
  throw badRequest(
    `"${field}" is ${JSON.stringify(usd)}: use an amount from 0 to 1000000 with at most 9 decimal places`,
    field,
  );
}

/** The amount in decimal notation: `String` writes numbers below a millionth as `1e-7`. */
function decimal(amount: number | string): string {
  if (typeof amount === 'string') return amount;
  const text = amount.toFixed(9);
  return Number(text) === amount ? text : String(amount);
}
