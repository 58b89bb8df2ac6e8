import type { IncomingHttpHeaders } from 'node:http';
import type { Calendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import { labelName } from '../../labels.ts';
import { formatUsd, MAX_AMOUNT_NANO_USD, NANO_PER_USD, type NanoUsd, usdNumber } from '../../money.ts';
import { libraryModelNames } from '../../pricing/library.ts';
import { didYouMean } from '../../providers/nearest-names.ts';
import { shellQuoted } from '../../shell-quoted.ts';
import type { Admission } from '../../store/ledger/admission.ts';
import type { RecordedNeed } from '../../store/ledger/record.ts';
import {
  capOf,
  isoTime,
  leftOf,
  type Standing,
  spentOf,
  teamFigures,
  unspentOf,
} from '../../store/ledger/standing.ts';
import { budgetName } from '../../store/ledger/terms.ts';
import { needResponse } from '../../store/requests/detail-columns.ts';
import type { ServerTool } from '../../wire/request/server-tools.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { isFromCodex } from '../intake/identify-session.ts';
import type { Target } from '../state/resolver.ts';
import { unseenIn } from './measure-prompt.ts';
import { leastNeed } from './need.ts';
import type { Quote } from './quote.ts';

/** Facts for a person who acts on a refused request. */
interface BudgetRefusal {
  standing: Standing;
  /** The least that the request needs. */
  needed: NanoUsd;
  /** The parts of `needed`. */
  need: RecordedNeed | undefined;
  /** Input of the request that its bytes don't bound, if it has any. */
  unseen?: string | undefined;
  model: string;
  calendar: Calendar;
  headers: IncomingHttpHeaders;
}

/**
 * 402: measured with the common SDKs and agents, no client but Codex retries it (see `forCodex`), while a 429 starts
 * retry storms.
 */
function budgetExceeded({
  standing,
  needed,
  need,
  unseen,
  model,
  calendar,
  headers,
}: BudgetRefusal): GwError {
  const { budget, pending, resetsAt } = standing;
  const name = budgetName(budget);
  const command = raiseCommand(standing, needed);
  const isRate = budget.period === 'rolling';
  const resets = resetText(standing, calendar);
  const message =
    `budget ${name} has no room for this request: ${formatUsd(spentOf(standing))} of ${formatUsd(capOf(standing))} is spent${heldText(pending)}${teamText(standing)}, ` +
    `and ${model} needs up to ${formatUsd(needed)}${needText(need)}.${unseenText(unseen)}${resets} To raise the cap: ${command}`;
  return new GwError(message, {
    status: 402,
    type: 'insufficient_quota',
    code: isRate ? 'rate_exceeded' : 'budget_exceeded',
    // By the ledger, in the transaction that refused it.
    recorded: true,
    headers: { 'x-should-retry': 'false' },
    fields: {
      ...(isFromCodex(headers) && Number.isFinite(resetsAt) ? { resets_at: Math.ceil(resetsAt / 1000) } : {}),
      ...roomFields(standing, needed, need),
      reset_at: isoTime(resetsAt),
      command,
    },
  });
}

/** Fields for the state of the budget and the need of the request. */
function roomFields(standing: Standing, needed: NanoUsd, need: RecordedNeed | undefined) {
  const { budget, pending } = standing;
  return {
    budget_id: budgetName(budget),
    spent_usd: usdNumber(spentOf(standing)),
    held_usd: usdNumber(pending),
    left_usd: usdNumber(leftOf(standing)),
    cap_usd: usdNumber(capOf(standing)),
    ...teamFigures(standing),
    needed_usd: usdNumber(needed),
    ...(need && { need: needResponse(need) }),
  };
}

/** 403: a budget stops sessions that are taken for runaways. As a pause is: no client that was measured tries it again. */
export function runawayError(
  { session }: AnyRequestContext,
  { budget }: Standing,
  why = 'it was a moment ago',
): GwError {
  const command = `gw sessions resume ${shellQuoted(session.sessionId)}`;
  return new GwError(
    `session ${session.sessionId} looks like a runaway: ${why}. Budget ${budgetName(budget)} stops such sessions. To let it go on: ${command}`,
    {
      status: 403,
      type: 'permission_error',
      code: 'session_runaway',
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(budget), session: session.sessionId, command },
    },
  );
}

/** 503: what the team had granted is used up, and its authority can't be asked for more. */
export function teamUnreachable(standing: Standing, needed: NanoUsd, now: number): GwError {
  const { budget, posted, pending, team } = standing;
  const since = team?.unreachableSince ?? now;
  const left = Math.max(0, team?.unspentNanoUsd ?? 0);
  return new GwError(
    `the team's database has not answered since ${new Date(since).toISOString()}, and the ${formatUsd(budget.capNanoUsd)} that it granted this gateway of budget ${budgetName(budget)} can't cover the request: ${formatUsd(posted)} is spent${heldText(pending)}, and it needs up to ${formatUsd(needed)}. The team had ${formatUsd(left)} left. See: gw team status`,
    {
      status: 503,
      type: 'api_error',
      code: 'team_unreachable',
      headers: { 'retry-after': '5' },
      fields: {
        ...roomFields(standing, needed, undefined),
        unreachable_since: new Date(since).toISOString(),
        command: 'gw team status',
      },
    },
  );
}

/** When there is room again. A cap of 0 has none after the reset either. */
function resetText(standing: Standing, calendar: Calendar): string {
  const { budget, resetsAt } = standing;
  if (capOf(standing) === 0 || budget.period === 'lifetime') return '';
  const when = `${calendar.dateOf(resetsAt)} ${calendar.timeOfDay(resetsAt)} (${calendar.timezone})`;
  return ` ${budget.period === 'rolling' ? 'Room comes back from' : 'It resets at'} ${when}.`;
}

/** The team's figures, for the refusal of a team budget. */
function teamText({ budget, team }: Standing): string {
  if (!team) return '';
  const left = formatUsd(Math.max(0, team.unspentNanoUsd));
  return `, the team has ${left} left, ${formatUsd(budget.capNanoUsd)} was granted to this gateway`;
}

function heldText(pending: NanoUsd): string {
  return pending > 0 ? `, ${formatUsd(pending)} is held by running requests` : '';
}

const BOUND_TEXTS: Readonly<Record<RecordedNeed['inputBound'], string>> = {
  bytes: 'counted by bytes',
  exact: 'counted',
  edit: 'from an earlier report',
  provider_count: "by the provider's count",
};

/** The parts of the need: the tokens that it covers, and the source of the input bound. */
function needText(need: RecordedNeed | undefined): string {
  if (!need) return '';
  const { inputTokens, inputBound, outputTokens, feesNanoUsd } = need;
  const fees = feesNanoUsd > 0 ? `, and $${usdNumber(feesNanoUsd)} of fees` : '';
  return ` (at most ${inputTokens} input tokens, ${BOUND_TEXTS[inputBound]}, and ${outputTokens} output tokens${fees})`;
}

function unseenText(unseen: string | undefined): string {
  return unseen === undefined
    ? ''
    : ` gw can't tell the size of ${unseen} from the request, so the model's whole context counts as input.`;
}

/** Codex retries a 402, but stops at this kind of 429 and prints the header. Other clients get the error unchanged. */
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

/** The status for a request that a budget has no room for. */
export function blockedStatus(headers: IncomingHttpHeaders): number {
  return isFromCodex(headers) ? 429 : 402;
}

/** 429: there will be room when a running request ends. */
export function budgetBusy(standing: Standing, needed: NanoUsd, need: RecordedNeed | undefined): GwError {
  const { budget, pending, team } = standing;
  const spent = formatUsd(spentOf(standing));
  const name = budgetName(budget);
  const holders = team
    ? `requests of the team's gateways hold the rest of budget ${name}`
    : `running requests hold the rest of budget ${name}`;
  const frozen = team?.frozen
    ? '. The team is frozen after a failover, until an admin runs gw team recover'
    : '';
  return new GwError(
    `${holders}: ${spent} spent and ${formatUsd(pending)} held${team ? ' here' : ''} of ${formatUsd(capOf(standing))}${teamText(standing)}, and the request needs up to ${formatUsd(needed)}${needText(need)}. Try again when they have finished${frozen}`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'budget_busy',
      headers: { 'retry-after': '2' },
      fields: roomFields(standing, needed, need),
    },
  );
}

/** 402: without a price there is no amount that a budget could hold. */
export function priceUnknown(standing: Standing, provider: string, model: string): GwError {
  const name = `${provider}/${model}`;
  const command = `gw prices set ${name} --input X --output Y`;
  const hint = didYouMean(model, libraryModelNames(provider));
  return new GwError(
    hint === ''
      ? `the price of ${name} is unknown, so budget ${budgetName(standing.budget)} can't cover the request. To set it, in dollars per million tokens: ${command}`
      : `gw knows no model "${model}" at ${provider}.${hint} If the name is right, budget ${budgetName(standing.budget)} needs its price, in dollars per million tokens: ${command}`,
    {
      status: 402,
      type: 'insufficient_quota',
      code: 'price_unknown',
      headers: { 'x-should-retry': 'false' },
      fields: { budget_id: budgetName(standing.budget), command },
    },
  );
}

/** 402: what the request may cost has no known bound. */
function costUnbounded(
  { budget }: Standing,
  message: (budget: string) => string,
  { param, command }: { param?: string; command?: string },
): GwError {
  return new GwError(message(budgetName(budget)), {
    status: 402,
    type: 'insufficient_quota',
    code: 'cost_unbounded',
    param,
    headers: { 'x-should-retry': 'false' },
    fields: { budget_id: budgetName(budget), ...(command !== undefined && { command }) },
  });
}

/** A field of the request changes its price by an unknown amount. */
function surchargeUnknown(standing: Standing, field: string): GwError {
  const message = (budget: string) =>
    `"${field}" changes the price by an unknown amount, so budget ${budget} can't cover the request. Remove the field, or use a project without a budget`;
  return costUnbounded(standing, message, { param: field });
}

/** The fee of a tool that the provider runs, or the number of its calls, has no bound. */
function toolUnpriced(standing: Standing, { name, field }: ServerTool): GwError {
  const command = `gw config set fees.${shellWord(name)} USD`;
  const message = (budget: string) =>
    `"${field}" lets the provider run "${name}" for a fee without a known limit, so budget ${budget} can't cover the request. To set the most that a request may pay for it, in dollars: ${command}`;
  return costUnbounded(standing, message, { param: field, command });
}

/** The name comes from the client and ends up in a command that people paste into a shell. */
function shellWord(name: string): string {
  return /^[\w:-]{1,64}$/.test(name) ? name : 'NAME';
}

function endpointUnbounded(standing: Standing, endpoint: string, why: string | undefined): GwError {
  const command = 'gw config set passthrough.unmetered allow';
  const message = (budget: string) =>
    `the cost of /v1/${endpoint} has no known upper bound${why === undefined ? '' : ` (${why})`}, so budget ${budget} can't cover the request. To let such requests run until the budget is spent, some of them uncounted: ${command}`;
  return costUnbounded(standing, message, { command });
}

/** The command that makes room: double the cap, or more if that is not enough, up to the largest cap. */
function raiseCommand(standing: Standing, needed: NanoUsd): string {
  const { budget } = standing;
  // The dashboard raises a run's budget while it runs.
  if (budget.scopeKind === 'run') return 'gw dashboard';
  const enough = Math.min(Math.max(capOf(standing) * 2, spentOf(standing) + needed * 2), MAX_AMOUNT_NANO_USD);
  const dollars = roundUp(enough) / NANO_PER_USD;
  const amount = dollars >= 1 ? String(dollars) : dollars.toFixed(9).replace(/0{1,9}$/, '');
  if (standing.team) {
    const project = budget.scopeValue === '' ? '' : ` -p ${shellQuoted(budget.scopeValue)}`;
    return `gw team budgets set ${amount} --period ${budget.period}${project}`;
  }
  const whose = `-p ${budget.projectName}${scopeOption(budget)}`;
  if (budget.period !== 'rolling') return `gw budget set ${amount} --period ${budget.period} ${whose}`;
  return `gw budget set --max-rate ${amount}/${windowText(budget.windowMs ?? 0)} ${whose}`;
}

/** The option that names what a budget is for. */
function scopeOption({ repo, scopeKind, scopeValue }: Standing['budget']): string {
  if (repo !== '') return ` --repo ${shellQuoted(repo)}`;
  const label = labelName(scopeKind);
  if (label !== undefined) return ` --label ${label}=${shellQuoted(scopeValue)}`;
  return scopeKind === '' ? '' : ` --${scopeKind === 'each' ? 'per' : scopeKind} ${shellQuoted(scopeValue)}`;
}

/** Rounds up to whole dollars, or to one significant digit below a dollar, so that the suggestion is always enough. */
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

/** A request to be admitted at a target. */
export interface AdmissionRequest {
  context: AnyRequestContext;
  target: Target;
  calendar: Calendar;
  /** Other targets can serve it. */
  hasOthers?: boolean;
  /** Undefined: no budget sends it to a cheaper model. */
  mayFallBack?: Admission['mayFallBack'];
}

/** Why a budget has no room for a request's next attempt; `spent` is the cost of its attempts so far. */
export function noRoomError(
  admission: AdmissionRequest & { spent: NanoUsd },
  { standing, quote }: { standing: Standing; quote: Quote },
): GwError {
  const { context, spent } = admission;
  if (quote.unpriced)
    return forCodex(unpricedError(admission, quote, standing), context.exchange.request.headers);
  const needed = spent + quote.least;
  if (needed <= unspentOf(standing))
    return budgetBusy(standing, needed, leastNeed(quote, quote.least, context.request.maxOutputTokens));
  return exceededError(admission, standing, { quote, needed });
}

export function exceededError(
  { context, target, calendar }: AdmissionRequest,
  standing: Standing,
  { quote, needed }: { quote: Quote; needed: NanoUsd },
): GwError {
  const { wire, request, exchange } = context;
  const { headers } = exchange.request;
  const need = leastNeed(quote, quote.least, request.maxOutputTokens);
  const unseen = wire.unreported ? undefined : unseenIn({ wire, request, exchange })?.what;
  const refusal = { standing, needed, need, unseen, model: target.model, calendar, headers };
  return forCodex(budgetExceeded(refusal), headers);
}

/** Why a budget can't hold a request that has no worst case. */
export function unpricedError(
  { context, target }: AdmissionRequest,
  quote: Quote,
  standing: Standing,
): GwError {
  const { wire, request } = context;
  if (wire.unreported) return endpointUnbounded(standing, wire.endpoint, quote.unbounded);
  if (request.surcharges?.unknown) return surchargeUnknown(standing, request.surcharges.unknown);
  if (quote.card && quote.tools?.unknown) return toolUnpriced(standing, quote.tools.unknown);
  return priceUnknown(standing, target.provider.name, quote.unpricedModel ?? target.model);
}
