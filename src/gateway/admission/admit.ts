import type { Calendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/admission.ts';
import type { AskResult } from '../../store/ledger/asks.ts';
import type { Offer } from '../../store/ledger/offer.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import { ClientGone, clientLimitMs } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import {
  type AnyRequestContext,
  PROJECT_PAUSED,
  pausedMessage,
  queueKeyOf,
  type RequestContext,
  sessionKeyOf,
} from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { MAX_SEARCH_MS } from '../intake/select-project.ts';
import { onRungOf } from '../state/admission-queue.ts';
import type { Target } from '../state/resolver.ts';
import type { Admitted } from './admitted.ts';
import {
  type AdmissionRequest,
  blockedStatus,
  budgetBusy,
  exceededError,
  forCodex,
  runawayError,
  teamUnreachable,
  unpricedError,
} from './errors.ts';
import { enoughFor, fittingHold, toAdmitted } from './fitting-hold.ts';
import { countInput, type InputParts, isCountable, leastInput } from './input-tokens.ts';
import { heldNeed, leastNeed } from './need.ts';
import { type CountParts, type IfCounted, ifCounted } from './provider-count.ts';
import { type Quote, shortestQuote } from './quote.ts';
import { type QuoteFor, type QuoteParts, quoteRequest } from './quote-request.ts';

export type AdmitParts = QuoteParts &
  Pick<Gateway, 'attribution' | 'budgetScopes' | 'runaways' | 'tiers' | 'queue' | 'tokens'> &
  AskParts &
  InputParts &
  CountParts;

/**
 * Holds the worst-case cost in every budget of the project. Tries the cheap bound of the input tokens first, and counts
 * them exactly only if a budget has no room for the bound; the provider is asked for a count only where the request
 * would be refused. Throws GwError 402 or 429 if there is no room, TargetFull if another target may have some, FallsBack
 * if a budget names cheaper models for it, and ClientGone.
 */
export async function admit(
  gateway: AdmitParts,
  context: RequestContext,
  target: Target,
  calendar: Calendar,
  ways: Pick<AdmissionRequest, 'hasOthers' | 'mayFallBack'> = {},
): Promise<Admitted> {
  const admission = { context, target, calendar, ...ways };
  const quoteFor = quoteRequest(gateway, context, target);
  const least = leastInput(gateway, context, target);
  const bound = quoteFor(least.tokens, least.by);
  if (!isCountable(context, target)) return admitCounted(gateway, admission, quoteFor, bound);
  const requote = requoting(gateway, admission, quoteFor, bound);
  const admitted = await admitQuote(gateway, admission, bound, { isFinal: false, requote });
  if (admitted) return admitted;
  const counted = await countInput(gateway, context, target, bound);
  return admitCounted(gateway, admission, quoteFor, quoteFor(counted.tokens, counted.by));
}

/** Admits the best quote that gw has of its own; asks the provider for a count before it refuses the request. */
async function admitCounted(
  gateway: AdmitParts,
  admission: AdmissionRequest & { context: RequestContext },
  quoteFor: QuoteFor,
  own: Quote,
): Promise<Admitted> {
  const { context, target } = admission;
  const requote = requoting(gateway, admission, quoteFor, own);
  const byCount = ifCounted(gateway, context, target, quoteFor);
  const admitted = await admitQuote(gateway, admission, own, { isFinal: true, requote, byCount });
  if (admitted) return admitted;
  const tokens = await gateway.inputCounter.ask(context, target);
  if (context.exchange.gone) throw new ClientGone();
  const final = tokens !== undefined && tokens < own.inputTokens ? quoteFor(tokens, 'provider_count') : own;
  return admitFinally(gateway, admission, final, requoting(gateway, admission, quoteFor, final));
}

/** Returns a quote that is lower than all before, if a prompt counted since gives one. */
type Requote = () => Quote | undefined;

function requoting(
  gateway: AdmitParts,
  { context, target }: { context: RequestContext; target: Target },
  quoteFor: QuoteFor,
  quote: Quote,
): Requote {
  const { promptBases } = gateway;
  let { inputTokens } = quote;
  let { version } = promptBases;
  return () => {
    if (version === promptBases.version) return undefined;
    version = promptBases.version;
    const least = leastInput(gateway, context, target);
    if (least.tokens >= inputTokens) return undefined;
    inputTokens = least.tokens;
    return quoteFor(least.tokens, least.by);
  };
}

/** Admits a quote that no count can lower. */
export async function admitFinally(
  gateway: AdmitParts,
  admission: AdmissionRequest,
  quote: Quote,
  requote?: Requote,
): Promise<Admitted> {
  const admitted = await admitQuote(gateway, admission, quote, { isFinal: true, requote });
  if (!admitted) throw new Error('the ledger did not decide a final admission');
  return admitted;
}

/** A budget of the target has no room. Nothing is on record: the request may go to another target. */
export class TargetFull extends Error {}

/** Budgets at their limit send the request to cheaper models. Nothing is on record. */
export class FallsBack extends Error {
  readonly standings: readonly Standing[];

  constructor(standings: readonly Standing[]) {
    super();
    this.standings = standings;
  }
}

/** Asks the ledger once. Undefined if a budget has no room for the quote, and may have for that of a count. */
async function admitQuote(
  gateway: AdmitParts,
  admission: AdmissionRequest,
  quote: Quote,
  { isFinal, requote, byCount }: { isFinal: boolean; requote?: Requote | undefined; byCount?: IfCounted },
): Promise<Admitted | undefined> {
  const terms = isFinal ? new AskDeadline(gateway, admission.context) : undefined;
  const offerFor = (each: Quote) => offerOf(gateway, admission, each, { terms, byCount, offerFor });
  const offer = offerFor(quote);
  const result = await reserve(gateway, admission, { offer, isFinal, requote: requoted(requote, offerFor) });
  return outcomeOf(gateway, admission, isQuoted(result.offer) ? result.offer : offer, result);
}

const requoted = (requote: Requote | undefined, offerFor: (quote: Quote) => QuotedOffer) =>
  requote &&
  (() => {
    const lower = requote();
    return lower && offerFor(lower);
  });

/** A rung of the ledger's ladder, with its quote. */
interface QuotedOffer extends Offer {
  quote: Quote;
}

const isQuoted = (offer: Offer | undefined): offer is QuotedOffer => offer !== undefined && 'quote' in offer;

interface OfferOptions {
  /** Undefined: nobody is asked. */
  terms: AskDeadline | undefined;
  /** Estimates for a count by the provider; undefined once it was asked. */
  byCount: IfCounted | undefined;
  offerFor: (quote: Quote) => QuotedOffer;
}

function offerOf(
  gateway: AdmitParts,
  { context, target }: AdmissionRequest,
  quote: Quote,
  { terms, byCount, offerFor }: OfferOptions,
): QuotedOffer {
  const { request, exchange } = context;
  const { amount, outputTokens, calls, small, fitInto } = fittingHold(gateway, quote);
  return {
    quote,
    amount,
    outputTokens,
    calls,
    small,
    least: quote.least,
    whole: wholeOf(request, quote),
    unpriced: quote.unpriced,
    fitInto,
    isWorthCounting: (fit, room) =>
      byCount?.isWorth(quote, fit.outputTokens ?? quote.outputTokens, room) ?? false,
    leastIfCounted: (isAlerted) => byCount?.least(quote, isAlerted),
    needOf: (held) => heldNeed(request, quote, held),
    blockedRecord() {
      const fields = {
        status: blockedStatus(exchange.request.headers),
        outcome: 'blocked',
        need: leastNeed(quote, quote.least, request.maxOutputTokens),
      } as const;
      return recordOf(context, target, fields, gateway.clock.monotonic());
    },
    asking: terms && { needed: () => enoughFor(quote), expiresAt: () => terms.expiresAt() },
    shorter() {
      const minOutputTokens = gateway.settings()['admission.min_output_tokens'];
      const shortest = shortestQuote(quote, request, { provider: target.provider.name, minOutputTokens });
      return shortest === quote ? undefined : offerFor(shortest);
    },
  };
}

/** What the ledger is asked for, besides the request itself. */
type Asked = Pick<Admission, 'offer' | 'isFinal' | 'requote'>;

/** Budgets of repositories need the request's origin, so the reservation waits for it if the project has any. */
function reserve(gateway: AdmitParts, admission: AdmissionRequest, asked: Asked): Promise<AnsweredResult> {
  const { context } = admission;
  const { origin, project, exchange } = context;
  const reserveNow = () => {
    const options = {
      maxWaitMs: gateway.settings()['admission.max_wait_ms'],
      isConnected: () => !exchange.gone,
    };
    return admitOrAsk(gateway, context, ledgerAdmission(gateway, admission, asked), options);
  };
  const needsOrigin = origin.search && gateway.budgetScopes().repos.has(project.id);
  return needsOrigin ? gateway.attribution.searched(origin, MAX_SEARCH_MS).then(reserveNow) : reserveNow();
}

function ledgerAdmission(
  gateway: AdmitParts,
  { context, target, hasOthers = false, mayFallBack }: AdmissionRequest,
  { offer, isFinal, requote }: Asked,
): Admission {
  const { exchange, request, session } = context;
  return {
    id: exchange.id,
    projectId: context.project.id,
    queueKey: queueKeyOf(context, gateway.budgetScopes(), target),
    origin: context.origin,
    agent: session.agent || undefined,
    agentVersion: session.agentVersion || undefined,
    session: session.sessionId || undefined,
    labels: context.options.labels,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: request.model,
    stream: request.stream,
    offer,
    isFinal,
    requote,
    hasOthers,
    mayFallBack,
    fallenFrom: context.fallback?.budget.id,
    runaway: runawayOf(gateway, context) && (() => runawayOf(gateway, context)?.message),
  };
}

const runawayOf = ({ runaways }: Pick<Gateway, 'runaways'>, context: AnyRequestContext) =>
  runaways.of(() => sessionKeyOf(context));

/** The worst case with the request's own output limit; without one, with enough output. */
export const wholeOf = ({ maxOutputTokens }: AnyRequestContext['request'], quote: Quote): NanoUsd =>
  maxOutputTokens === undefined ? enoughFor(quote) : quote.amount;

function outcomeOf(
  gateway: Pick<Gateway, 'clock' | 'runaways' | 'tiers'>,
  admission: AdmissionRequest,
  offer: QuotedOffer,
  result: AnsweredResult,
): Admitted | undefined {
  const { context } = admission;
  const { quote } = offer;
  switch (result.kind) {
    case 'held':
      context.exchange.heldAt = gateway.clock.monotonic();
      context.exchange.allowed = result.allowed;
      if (context.tier) gateway.tiers.setSpentOfCap(context.project.id, result.spentOfCap);
      return toAdmitted(context, quote, result.fit ?? offer, result);
    case 'needs_count':
      if (context.exchange.gone) throw new ClientGone();
      return undefined;
    case 'elsewhere':
      throw new TargetFull();
    case 'fallback':
      throw new FallsBack(result.standings);
    case 'unpriced':
      throw forCodex(unpricedError(admission, quote, result.standing), context.exchange.request.headers);
    case 'blocked':
      throw exceededError(admission, result.standing, { quote, needed: quote.least });
    case 'runaway':
      throw runawayError(context, result.standing, runawayOf(gateway, context)?.message);
    case 'unreachable':
      throw teamUnreachable(result.standing, quote.least, gateway.clock.now());
    case 'wait':
      if (result.standing.team?.unreachableSince !== undefined && !context.exchange.gone)
        throw teamUnreachable(result.standing, quote.least, gateway.clock.now());
      context.exchange.need = leastNeed(quote, quote.least, context.request.maxOutputTokens);
      if (context.exchange.gone) throw new ClientGone();
      throw budgetBusy(result.standing, quote.least, context.exchange.need);
  }
}

type AskParts = Pick<Gateway, 'approvals' | 'authenticator' | 'clock' | 'ledger' | 'settings'>;

type AnsweredResult = Exclude<AdmissionResult, AskResult>;

/**
 * Admits a request. If a budget asks its owner, waits for the answer: nothing is sent to the client meanwhile.
 * Throws ClientGone, and GwError if the project is paused or the key revoked while the request waits.
 */
async function admitOrAsk(
  gateway: AskParts & Pick<Gateway, 'queue'>,
  context: AnyRequestContext,
  first: Admission,
  options: Parameters<Gateway['queue']['admit']>[1],
): Promise<AnsweredResult> {
  const result = await gateway.queue.admit(first, options);
  if (result.kind !== 'ask') return answered(gateway, context, result);
  let admission = onRungOf(first, result);
  const leave = gateway.approvals.join();
  try {
    for (;;) {
      await gateway.approvals.nextLook();
      mustBeThere(gateway, context);
      const seen = await gateway.ledger.look(admission);
      const next = seen.kind === 'wait' ? await gateway.queue.admit(admission, options) : seen;
      admission = onRungOf(admission, next);
      if (next.kind !== 'ask') return answered(gateway, context, { ...next, offer: admission.offer });
    }
  } finally {
    leave();
    // If it can't be written, the question ends at its time. The request may hold money by now, so it goes on.
    await gateway.ledger.endAsk(admission.id).catch(() => {});
  }
}

function mustBeThere(gateway: Pick<AskParts, 'approvals' | 'clock'>, context: AnyRequestContext): void {
  const { exchange } = context;
  if (!exchange.gone) return;
  gateway.approvals.noteGone(clientName(context), gateway.clock.monotonic() - exchange.startedAt);
  throw new ClientGone();
}

function answered(
  { authenticator }: Pick<AskParts, 'authenticator'>,
  { exchange, project }: AnyRequestContext,
  result: Exclude<AdmissionResult, { kind: 'ask' }>,
): AnsweredResult {
  if (result.kind !== 'shut') return result;
  authenticator.forget();
  // Throws if it was the key that was revoked.
  authenticator.authenticate(exchange.request.headers);
  throw new GwError(pausedMessage(project), PROJECT_PAUSED);
}

/** The rest of a client's limit is for the answer of the provider. */
const SHARE_OF_CLIENT_LIMIT = 0.5;

/** The name by which a client's own limit is measured. */
const clientName = ({ exchange }: AnyRequestContext): string => exchange.request.headers['user-agent'] ?? '';

/** How long a request can wait for its owner's answer, computed only when a budget asks. */
class AskDeadline {
  readonly #gateway: Pick<Gateway, 'approvals' | 'clock' | 'settings'>;
  readonly #context: AnyRequestContext;
  /** Monotonic, as the clock may be set while the request waits. */
  #deadline: number | undefined;
  #expiresAt = 0;

  constructor(gateway: Pick<Gateway, 'approvals' | 'clock' | 'settings'>, context: AnyRequestContext) {
    this.#gateway = gateway;
    this.#context = context;
  }

  /** In the past once the request must not wait any more. */
  expiresAt(): number {
    const { approvals, clock } = this.#gateway;
    if (approvals.isEnded) return 0;
    const now = clock.monotonic();
    if (this.#deadline === undefined) {
      if (approvals.isFull) return 0;
      const waitMs = this.#waitMs(now);
      this.#deadline = now + waitMs;
      this.#expiresAt = clock.now() + Math.ceil(waitMs);
    }
    return now < this.#deadline ? this.#expiresAt : 0;
  }

  #waitMs(now: number): number {
    const { approvals, settings } = this.#gateway;
    const { exchange } = this.#context;
    const limitMs = Math.min(clientLimitMs(exchange), approvals.limitOf(clientName(this.#context)));
    const left = limitMs * SHARE_OF_CLIENT_LIMIT - (now - exchange.startedAt);
    return Math.min(settings()['admission.ask_wait_s'] * 1_000, left);
  }
}
