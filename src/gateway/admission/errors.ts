import type { IncomingHttpHeaders } from 'node:http';
import type { Calendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import { formatUsd, MAX_AMOUNT_NANO_USD, NANO_PER_USD, type NanoUsd, usdNumber } from '../../money.ts';
import { shellQuoted } from '../../shell-quoted.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import { budgetName } from '../../store/ledger/terms.ts';
import type { ServerTool } from '../../wire/request/server-tools.ts';
import { isFromCodex } from '../intake/is-codex.ts';

/** What the person at the other end needs to act on a refused request. */
export interface BudgetRefusal {
  standing: Standing;
  /** The least that the request needs. */
  needed: NanoUsd;
  model: string;
  calendar: Calendar;
  headers: IncomingHttpHeaders;
}

/**
 * 402, which no client retries (measured with the SDKs and agents that are in use; a 429 starts retry storms), but for
 * Codex: see `inClientsWay`.
 */
export function budgetExceeded({ standing, needed, model, calendar, headers }: BudgetRefusal): GwError {
  const { budget, posted, resetsAt } = standing;
  const name = budgetName(budget);
  const when = `${calendar.dateOf(resetsAt)} ${calendar.timeOfDay(resetsAt)} (${calendar.timezone})`;
  const command = raiseCommand(standing, needed);
  const isRate = budget.period === 'rolling';
  // A cap of nothing is as full after the reset as before it.
  const resets =
    budget.capNanoUsd === 0 ? '' : ` ${isRate ? 'Room comes back from' : 'It resets at'} ${when}.`;
  const message =
    `budget ${name} has no room for this request: ${formatUsd(posted)} of ${formatUsd(budget.capNanoUsd)} is spent, ` +
    `and ${model} needs up to ${formatUsd(needed)}.${resets} To raise the cap: ${command}`;
  return new GwError(message, {
    status: 402,
    type: 'insufficient_quota',
    code: isRate ? 'rate_exceeded' : 'budget_exceeded',
    // By the ledger, in the transaction that refused it.
    recorded: true,
    headers: { 'x-should-retry': 'false' },
    fields: {
      ...(isFromCodex(headers) ? { resets_at: Math.ceil(resetsAt / 1000) } : {}),
      budget_id: name,
      spent_usd: usdNumber(posted),
      cap_usd: usdNumber(budget.capNanoUsd),
      needed_usd: usdNumber(needed),
      reset_at: new Date(resetsAt).toISOString(),
      command,
    },
  });
}

/** Codex retries a 402, but shows this kind of 429 and prints the header. Other clients get the error as it is. */
export function forCodex(error: GwError, headers: IncomingHttpHeaders): GwError {
  if (!isFromCodex(headers)) return error;
  return new GwError(error.message, {
    status: blockedStatus(headers),
    type: error.type,
    code: error.code,
    headers: { ...error.headers, 'x-codex-promo-message': error.message },
    fields: { type: 'usage_limit_reached', ...error.fields },
    recorded: error.recorded,
    ...(error.param === null ? {} : { param: error.param }),
  });
}

/** The status of a request that a budget has no room for. */
export function blockedStatus(headers: IncomingHttpHeaders): number {
  return isFromCodex(headers) ? 429 : 402;
}

/** 429, the only one that gw sends of itself: room comes as soon as a running request ends. */
export function budgetBusy(standing: Standing): GwError {
  const { budget, posted, pending } = standing;
  return new GwError(
    `budget ${budgetName(budget)} is held by running requests: ${formatUsd(posted)} spent and ${formatUsd(pending)} held of ${formatUsd(budget.capNanoUsd)}. Try again when they are done`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'budget_busy',
      headers: { 'retry-after': '2' },
      fields: { budget_id: budgetName(budget) },
    },
  );
}

/** 402: a budget can't hold what nobody can price. */
export function priceUnknown(standing: Standing, provider: string, model: string): GwError {
  const name = `${provider}/${model}`;
  const command = `gw prices set ${name} --input X --output Y`;
  return new GwError(
    `the price of ${name} is not known, so budget ${budgetName(standing.budget)} cannot hold it. Set it in dollars per million tokens: ${command}`,
    {
      status: 402,
      type: 'insufficient_quota',
      code: 'price_unknown',
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(standing.budget), command },
    },
  );
}

/** 402: a field of the request makes its cost another than that of its model. */
export function surchargeUnknown({ budget }: Standing, field: string): GwError {
  return new GwError(
    `with "${field}" the cost is not that of the model, so budget ${budgetName(budget)} cannot hold it. Leave it out, or use a project without a budget`,
    {
      status: 402,
      type: 'insufficient_quota',
      code: 'cost_unbounded',
      param: field,
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(budget) },
    },
  );
}

/** 402: what the provider charges for a tool of its own is not known, or how often it may run. */
export function toolUnpriced({ budget }: Standing, { name, field }: ServerTool): GwError {
  const command = `gw config set fees.${shellWord(name)} USD`;
  return new GwError(
    `"${field}" has the provider run "${name}", and nothing bounds what it charges for that, so budget ${budgetName(budget)} cannot hold it. Set the dollars that a request with it may cost: ${command}`,
    {
      status: 402,
      type: 'insufficient_quota',
      code: 'cost_unbounded',
      param: field,
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(budget), command },
    },
  );
}

/** Names of tools come from clients, and the command is there to be pasted. */
function shellWord(name: string): string {
  return /^[\w:-]{1,64}$/.test(name) ? name : 'NAME';
}

/** 402: nothing bounds what this endpoint costs, so a budget can't hold it unless it is told not to mind. */
export function costUnbounded({ budget }: Standing, endpoint: string): GwError {
  const command = 'gw config set passthrough.unmetered allow';
  return new GwError(
    `nothing bounds beforehand what /v1/${endpoint} costs, so budget ${budgetName(budget)} cannot hold it. To let such requests run until the budget is used up, some of them uncounted: ${command}`,
    {
      status: 402,
      type: 'insufficient_quota',
      code: 'cost_unbounded',
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(budget), command },
    },
  );
}

/** The command that makes room: double the cap, or more where that is not enough, as far as caps go. */
function raiseCommand({ budget, posted }: Standing, needed: NanoUsd): string {
  const enough = Math.min(Math.max(budget.capNanoUsd * 2, posted + needed * 2), MAX_AMOUNT_NANO_USD);
  const dollars = roundUp(enough) / NANO_PER_USD;
  const amount = dollars >= 1 ? String(dollars) : dollars.toFixed(9).replace(/0+$/, '');
  const whose = `-p ${budget.projectName}${budget.repo === '' ? '' : ` --repo ${shellQuoted(budget.repo)}`}`;
  if (budget.period !== 'rolling') return `gw budget set ${amount} --period ${budget.period} ${whose}`;
  return `gw budget set --max-rate ${amount}/${windowText(budget.windowMs ?? 0)} ${whose}`;
}

/** To whole dollars, below one to a single figure; never less, as what is suggested has to be enough. */
function roundUp(amount: NanoUsd): NanoUsd {
  const unit = Math.min(NANO_PER_USD, 10 ** Math.floor(Math.log10(amount)));
  return Math.ceil(amount / unit) * unit;
}

function windowText(windowMs: number): string {
  if (windowMs === 3_600_000) return 'hour';
  if (windowMs === 60_000) return 'minute';
  if (windowMs === 86_400_000) return 'day';
  return windowMs % 60_000 === 0 ? `${windowMs / 60_000}m` : `${windowMs / 1000}s`;
}
