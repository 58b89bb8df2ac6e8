import type { Calendar } from '../../calendar.ts';
import type { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import { isFree } from '../../pricing/cost.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { type PriceCard, scaleCard } from '../../pricing/price-card.ts';
import { regionalCard } from '../../pricing/regional.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Standing } from '../../store/ledger/balances.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/ledger.ts';
import { tokenBound } from '../../tokens/bound.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import { type Unseen, unseenTokens } from '../../wire/request/non-text-input.ts';
import type { Gateway } from '../context/gateway.ts';
import { type Job, lineOf, recordOf } from '../context/request-context.ts';
import { ClientGone } from '../intake/read-body.ts';
import type { Target } from '../state/resolve.ts';
import {
  blockedStatus,
  budgetBusy,
  budgetExceeded,
  costUnbounded,
  inClientsWay,
  priceUnknown,
  termsUnknown,
  toolUnpriced,
} from './errors.ts';
import { fitInto, type Quote, quote } from './quote.ts';
import { toolsFor, toolTerms } from './tool-fees.ts';

/** Room that is reserved for a request, durably. */
export interface Admitted {
  quote: Quote;
  heldNanoUsd: NanoUsd;
  /** What the tightest budget has left; null without budgets. */
  remaining: NanoUsd | null;
  /** The output limit per choice to write into the request. */
  limit: number | undefined;
  /** The limit of the calls of the provider's own tools to write into the request. */
  calls: number | undefined;
}

/** The calls of the provider's tools that were held for. */
export function callsOf({ calls, quote }: Admitted): number | undefined {
  return calls ?? quote.tools?.calls;
}

/**
 * Holds the worst-case cost in every budget of the project. The cheap bound of the input is tried first, the exact
 * count only where that has no room. Throws GwError 402 or 429 where there is none, and ClientGone.
 */
export async function admit(
  gateway: Gateway,
  job: Job,
  target: Target,
  calendar: Calendar,
): Promise<Admitted> {
  const asking = { job, target, calendar };
  const quoteFor = quoter(gateway, job, target);
  const cheap = limiting(gateway, quoteFor(inputBound(job, target)));
  const first = await reserve(gateway, asking, cheap, !isCountable(job, target));
  const admitted = outcomeOf(gateway, asking, cheap, first);
  if (admitted) return admitted;
  const exact = await exactInput(gateway, job, target, cheap.quote.inputTokens);
  const second = await hold(gateway, asking, quoteFor(exact), true);
  if (!second) throw new Error('a final admission was not decided');
  return second;
}

/** What a request would cost at a target at most, for a number of input tokens. */
export function quoter(gateway: Gateway, job: Job, target: Target): (inputTokens: number) => Quote {
  const { provider, model } = target;
  const found = gateway.catalog().find(provider.name, model, gateway.clock.now());
  const listed = regionalCard(found, provider, model);
  const heldTenths = gateway.defaultTerms.of(target, job.asked.terms);
  const card = listed && heldTenths !== 10 ? scaleCard(listed, heldTenths) : listed;
  const settings = gateway.settings();
  const asked = toolsFor(job.asked.serverTools, target.model);
  const tools =
    asked &&
    !isOwnMachine(target, card) &&
    toolTerms(asked, {
      provider: provider.name,
      choices: job.asked.choices,
      fees: settings.fees,
      maxCalls: settings['admission.max_tool_calls'],
    });
  return (inputTokens) =>
    quote(job.asked, {
      provider: provider.name,
      model,
      card,
      listed,
      heldTenths,
      inputTokens,
      minOutputTokens: settings['admission.min_output_tokens'],
      tools: tools || undefined,
    });
}

/** The quick look takes the bytes of images for text, and more for files than there are. */
export function isCountable({ asked: { unseen } }: Job, target: Target): boolean {
  return encodingOf(target.model) !== undefined || unseen.images > 0 || unseen.context;
}

/** What a budget that has little room makes of a request. */
interface Limited {
  quote: Quote;
  /** Output tokens of each choice, and calls of the provider's own tools. */
  outputTokens: number | undefined;
  calls: number | undefined;
  fit(room: NanoUsd): NanoUsd | undefined;
}

export function limiting(gateway: Gateway, quoted: Quote): Limited {
  const minOutputTokens = gateway.settings()['admission.min_output_tokens'];
  const limited: Limited = {
    quote: quoted,
    outputTokens: quoted.mustLimit ? quoted.outputTokens : undefined,
    calls: quoted.tools?.calls,
    fit(room) {
      const fitted = fitInto(quoted, room, minOutputTokens);
      if (!fitted) return undefined;
      if (quoted.mayCut) limited.outputTokens = fitted.outputTokens;
      limited.calls = fitted.calls;
      return fitted.amount;
    },
  };
  return limited;
}

export function admittedAs(
  { asked }: Job,
  { amount, remaining }: { amount: NanoUsd; remaining: NanoUsd | null },
  { quote: quoted, outputTokens, calls }: Limited,
): Admitted {
  // Without a budget there is nothing that a limit would protect.
  const isFree = remaining === null;
  return {
    quote: quoted,
    heldNanoUsd: amount,
    remaining,
    limit: isFree ? undefined : outputTokens,
    calls: isFree || asked.serverTools?.mostCalls !== undefined ? undefined : calls,
  };
}

/** Where tokens cost nothing, tools don't either, but for hosts that give some models away. */
function isOwnMachine({ provider }: Target, card: PriceCard | undefined): boolean {
  const isHost = Object.hasOwn(PRESETS, provider.name) && !provider.local;
  return card !== undefined && isFree(card) && !isHost;
}

interface Asking {
  job: Job;
  target: Target;
  calendar: Calendar;
}

/** How long a request waits to be known where it comes from; what is found later is booked all the same. */
export const MAX_SEARCH_MS = 2_000;

/** One admission with the ledger; undefined where the bound was too loose to decide. */
export async function hold(
  gateway: Gateway,
  asking: Asking,
  quoted: Quote,
  final: boolean,
): Promise<Admitted | undefined> {
  const limited = limiting(gateway, quoted);
  return outcomeOf(gateway, asking, limited, await reserve(gateway, asking, limited, final));
}

/** Asks the ledger, once it is known where the request comes from, if that matters. */
function reserve(
  gateway: Gateway,
  asking: Asking,
  limited: Limited,
  final: boolean,
): Promise<AdmissionResult> {
  const { origin, project, exchange } = asking.job;
  const reserveNow = () =>
    gateway.queue.admit(admissionOf(gateway, asking, limited, final), {
      maxWaitMs: gateway.settings()['admission.max_wait_ms'],
      wanted: () => !exchange.gone,
    });
  const matters = origin.search && gateway.repoBudgets().has(project.id);
  return matters ? gateway.attribution.searched(origin, MAX_SEARCH_MS).then(reserveNow) : reserveNow();
}

function admissionOf(
  gateway: Gateway,
  { job, target }: Asking,
  { quote: quoted, fit }: Limited,
  final: boolean,
): Admission {
  const { exchange, asked } = job;
  return {
    id: exchange.id,
    projectId: job.project.id,
    line: lineOf(job, gateway.repoBudgets()),
    origin: job.origin,
    keyId: job.caller.keyId,
    endpoint: job.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: asked.model,
    stream: asked.stream,
    amount: quoted.amount,
    least: quoted.least,
    unpriced: quoted.unpriced,
    final,
    fit,
    blockedRecord() {
      const ending = { status: blockedStatus(exchange.request.headers), outcome: 'blocked' } as const;
      return recordOf(job, target, ending, gateway.clock.monotonic());
    },
  };
}

function outcomeOf(
  gateway: Gateway,
  asking: Asking,
  limited: Limited,
  result: AdmissionResult,
): Admitted | undefined {
  const { job } = asking;
  switch (result.kind) {
    case 'held':
      if (job.tier) gateway.tiers.admitted(job.project.id, result.spentOfCap);
      return admittedAs(job, result, limited);
    case 'tight':
      if (job.exchange.gone) throw new ClientGone();
      return undefined;
    case 'unpriced':
      throw inClientsWay(unpricedError(asking, limited.quote, result.standing), job.exchange.request.headers);
    case 'blocked':
      throw exceeded(asking, result.standing, limited.quote.least);
    case 'wait':
      if (job.exchange.gone) throw new ClientGone();
      throw budgetBusy(result.standing);
  }
}

/** Why a budget has no room for what a request goes on with, of which `spent` is for its attempts so far. */
export function noRoomFor(
  asking: Asking & { spent: NanoUsd },
  { standing, quote: quoted }: { standing: Standing; quote: Quote },
): GwError {
  const { job, spent } = asking;
  if (quoted.unpriced)
    return inClientsWay(unpricedError(asking, quoted, standing), job.exchange.request.headers);
  const needed = spent + quoted.least;
  if (needed <= standing.budget.capNanoUsd - standing.posted) return budgetBusy(standing);
  return exceeded(asking, standing, needed);
}

function exceeded({ job, target, calendar }: Asking, standing: Standing, needed: NanoUsd): GwError {
  const { headers } = job.exchange.request;
  return inClientsWay(budgetExceeded({ standing, needed, model: target.model, calendar, headers }), headers);
}

/** What a budget can't hold, and why. */
function unpricedError({ job, target }: Asking, quoted: Quote, standing: Standing): GwError {
  const { wire, asked } = job;
  if (wire.unreported) return costUnbounded(standing, wire.endpoint);
  if (asked.terms?.unknown) return termsUnknown(standing, asked.terms.unknown);
  if (quoted.card && quoted.tools?.unknown) return toolUnpriced(standing, quoted.tools.unknown);
  return priceUnknown(standing, target.provider.name, target.model);
}

/** Added for what a provider puts around messages and tools of its own accord. */
const TOKENS_PER_REQUEST = 64;
const TOKENS_PER_ITEM = 16;

/** Tools make a provider instruct the model: Anthropic's own ones (computer, editor, shell) with some 2,200 tokens. */
const TOKENS_FOR_TOOLS = 2_500;

function tokensAround({ asked }: Job): number {
  return TOKENS_PER_REQUEST + (asked.members.some(({ key }) => key === 'tools') ? TOKENS_FOR_TOOLS : 0);
}

/** No token is shorter than a byte, and JSON only makes text longer. */
export function inputBound(job: Job, target: Target): number {
  const { bytes, unseen } = job.asked;
  return bytes.length + tokensAround(job) + unseenBound(unseen, target);
}

/** The most that the input which the request only points at may be, in tokens. */
export function unseenBound(unseen: Unseen, { provider, model }: Target): number {
  if (unseen.images === 0 && !unseen.context) return 0;
  return unseenTokens(unseen, model, modelLimits(provider.name, model)?.contextTokens);
}

export async function exactInput(gateway: Gateway, job: Job, target: Target, bound: number): Promise<number> {
  const encoding = encodingOf(target.model);
  const { texts, items, tokens, unseen } = job.wire.promptOf(job.asked);
  const counted = encoding
    ? await gateway.tokens.count(texts, encoding).catch(() => bound)
    : texts.reduce((sum, text) => sum + tokenBound(text), 0);
  const around = tokensAround(job) + items * TOKENS_PER_ITEM;
  return Math.min(bound, counted + tokens + around + unseenBound(unseen, target));
}
