import { badRequest, GwError } from '../../errors.ts';
import { applyEdits } from '../../json/edit.ts';
import { NO_COST } from '../../money.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import { type Login, loginIn, OWN_KEY_HEADER } from '../../providers/subscriptions.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { Wire } from '../../wire/wire.ts';
import { type AdmitParts, admitFinally } from '../admission/admit.ts';
import type { Admitted } from '../admission/admitted.ts';
import { blockedStatus, forCodex } from '../admission/errors.ts';
import { inputBound } from '../admission/input-tokens.ts';
import { type MediaCost, POSSIBLE_TOKENS, type Quote } from '../admission/quote.ts';
import { type QuoteParts, quoteRequest } from '../admission/quote-request.ts';
import type { DirectAttempt } from '../attempt/attempt.ts';
import { deliver, prepareAnswer } from '../attempt/deliver.ts';
import { type SendParts, sendAttempt } from '../attempt/send-attempt.ts';
import { meterAttempt, type SettleParts, settle } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import { watchSession } from '../learning/watch-session.ts';
import type { Target } from '../state/resolver.ts';
import { upstreamHeaders } from '../upstream/headers.ts';
import { keepOut, senderOf } from './keep-out.ts';

type LoginParts = AdmitParts &
  SendParts &
  SettleParts &
  Pick<Gateway, 'calendar' | 'ledger' | 'pasteable' | 'planLimits' | 'redact' | 'runaways' | 'subscriptions'>;

/** The paths that each login is passed on at, and what they are called in errors. */
const SERVICES: Readonly<Record<Login, { title: string; paths: readonly string[] }>> = {
  claude: { title: 'a Claude login', paths: ['/messages', '/messages/count_tokens'] },
  chatgpt: { title: 'a ChatGPT login', paths: ['/responses', '/responses/compact'] },
};

/**
 * The login that a request brings beside its gw key; undefined for a request on gw's own credentials. A model of the
 * sandbox is gw's own, and the login is not used for it.
 */
export function ownLogin({ exchange, request }: AnyRequestContext): Login | undefined {
  const { headers } = exchange.request;
  if (headers[OWN_KEY_HEADER] === undefined || request.model.startsWith('sandbox/')) return undefined;
  return loginIn(headers);
}

/**
 * Passes a request on to the service of the client's own login: its body as it is, its credential untouched. It is
 * recorded at list price and flagged `not_billed`, and no budget counts it. The credential is nowhere but in the request.
 * Throws GwError 403 unless the settings allow it.
 */
export async function passLogin(
  gateway: LoginParts,
  context: AnyRequestContext,
  login: Login,
  path: string,
): Promise<void> {
  check(gateway, context, login, path);
  const { exchange, request } = context;
  const { method = 'POST', rawHeaders, headers } = exchange.request;
  const provider = gateway.subscriptions[login];
  const target = { provider, model: request.model };
  const limits = await gateway.planLimits();
  const known = limits.identify(login, headers, request);
  await keepOut(gateway, context, () => limits.guarded(known, senderOf(context)));
  const until = limits.beyondPlanUntil(known);
  if (until !== undefined) refuseOverage(gateway, context, until);
  const attempt =
    until !== undefined && isCompletion(context)
      ? await admitOverage(gateway, context, target)
      : await admitUnbilled(gateway, context, target);
  attempt.login = known.id;
  attempt.onHead = (answer) => void limits.note(known, answer, context.project.id);
  const authHeaders = ['authorization', headers.authorization ?? ''];
  const result = await sendAttempt(gateway, attempt, {
    method,
    path: provider.basePath + path + exchange.target.query,
    headers: upstreamHeaders(rawHeaders, { wire: provider.wire, authHeaders }),
    body: applyEdits(request.bytes, request.edits),
  });
  prepareAnswer(gateway, attempt, result);
  const metered = await meterAttempt(gateway, attempt, result);
  if (attempt.why === 'subscription')
    result.metered = { ...metered, flags: metered.flags | FLAGS.not_billed };
  // The plan covers it again: the hold is released.
  else if (limits.beyondPlanUntil(known) === undefined)
    result.metered = { ...metered, costNanoUsd: NO_COST, flags: metered.flags | FLAGS.not_billed };
  else result.metered = metered;
  limits.spent(known, context.caller.keyId, metered.costNanoUsd);
  const settlement = await settle(gateway, attempt, result);
  deliver(gateway, attempt, result, settlement);
  watchSession(gateway, context, settlement);
}

function check(gateway: LoginParts, { options }: AnyRequestContext, login: Login, path: string): void {
  const { title, paths } = SERVICES[login];
  if (gateway.settings()['passthrough.subscriptions'] !== 'allow') {
    throw refused(
      `the request brings ${title}, which gw does not pass on. To allow it: gw config set passthrough.subscriptions allow. To use gw's own providers, leave the login out: gw run -- AGENT`,
    );
  }
  if (!paths.includes(path)) {
    const allowed = paths.map((each) => `/v1${each}`).join(' and ');
    throw refused(
      `gw passes ${title} on at ${allowed} only. Use a key of gw in "authorization" for /v1${path}`,
    );
  }
  if (options.explain) {
    throw badRequest(
      `"service.explain" is not supported with ${title}. Remove the field`,
      'service.explain',
      'unsupported_value',
    );
  }
}

/** Puts the request on record before it is sent, in no budget. */
async function admitUnbilled(
  gateway: QuoteParts & Pick<Gateway, 'clock' | 'ledger'>,
  context: AnyRequestContext,
  target: Target,
): Promise<DirectAttempt> {
  const { exchange, request, session } = context;
  await gateway.ledger.admit({
    id: exchange.id,
    projectId: context.project.id,
    keyId: context.caller.keyId,
    origin: context.origin,
    agent: session.agent || undefined,
    agentVersion: session.agentVersion || undefined,
    session: session.sessionId || undefined,
    labels: context.options.labels,
    endpoint: context.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: request.model,
    stream: request.stream,
    notBilled: true,
    offer: {
      amount: 0,
      least: 0,
      blockedRecord: () => {
        throw new Error('a request without an amount was blocked');
      },
    },
    isFinal: true,
  });
  exchange.heldAt = gateway.clock.monotonic();
  return { context, target, admitted: unbilled(gateway, context, target), why: 'subscription' };
}

/** The owner wants no request that the plan does not cover. Throws GwError 402. */
function refuseOverage(
  { calendar, settings }: Pick<Gateway, 'calendar' | 'settings'>,
  { exchange }: AnyRequestContext,
  until: number,
): void {
  if (settings()['passthrough.subscriptions.overage'] !== 'refuse') return;
  const { dateOf, timeOfDay, timezone } = calendar();
  const { headers } = exchange.request;
  const error = new GwError(
    `the plan of this login is used up, and it bills requests beyond it until ${dateOf(until)} ${timeOfDay(until)} (${timezone}). To let them through, counted in budgets: gw config set passthrough.subscriptions.overage count`,
    {
      status: blockedStatus(headers),
      type: 'insufficient_quota',
      code: 'overage_refused',
      headers: { 'x-should-retry': 'false' },
      fields: { resets_at: Math.ceil(until / 1_000), reset_at: new Date(until).toISOString() },
    },
  );
  throw forCodex(error, headers);
}

/** Holds the list price in the project's budgets. The body goes out as it is, so its output limit can't be lowered. */
async function admitOverage(
  gateway: LoginParts,
  context: RequestContext<Wire>,
  target: Target,
): Promise<DirectAttempt> {
  const quote = quoteRequest(gateway, context, target)(inputBound(context, target));
  const admission = { context, target, calendar: gateway.calendar() };
  const admitted = await admitFinally(gateway, admission, {
    ...{ ...quote, mayLower: false, mustLimit: false },
    ...{ leastOutputTokens: quote.outputTokens, least: quote.amount },
  });
  return { context, target, admitted, why: 'overage' };
}

/** For metering: the prices, and the bounds of an answer without usage. */
function unbilled(gateway: QuoteParts, context: AnyRequestContext, target: Target): Admitted {
  const quote = isCompletion(context)
    ? quoteRequest(gateway, context, target)(inputBound(context, target))
    : unboundedQuote(gateway, target, { isFree: true });
  return { quote, heldNanoUsd: 0, remaining: null, limit: undefined, calls: undefined };
}

function isCompletion(context: AnyRequestContext): context is RequestContext<Wire> {
  return context.wire.unreported === undefined;
}

function refused(message: string): GwError {
  return new GwError(message, { status: 403, type: 'permission_error', code: 'subscription_refused' });
}

/** How a call that is passed through is billed. */
interface UnboundedCall {
  isFree: boolean;
  /** The most that it costs, if that is known. */
  media?: MediaCost | undefined;
  /** Why it is not, as the end of a sentence. */
  unbounded?: string | undefined;
}

/**
 * The quote of a pass-through request. A budget holds what the call can cost at most, if that is known. Otherwise it
 * refuses the request unless `passthrough.unmetered` allows it; then it holds the owner's price for each request, or the
 * smallest amount, so that a budget that is spent still stops it. That a model has a price of 0 says nothing of what other
 * endpoints do with it.
 */
export function unboundedQuote(
  gateway: Pick<Gateway, 'clock' | 'settings' | 'catalog'>,
  target: Target,
  { isFree, media, unbounded }: UnboundedCall,
): Quote {
  const card = gateway.catalog().find(target.provider.name, target.model, gateway.clock.now());
  const isAllowed = gateway.settings()['passthrough.unmetered'] === 'allow';
  const perRequest = card ? nanoFromPico(card.perRequestPicoUsd) : 0;
  const fee: MediaCost | undefined = perRequest > 0 ? { amount: perRequest, isPrice: false } : undefined;
  const cost = isFree ? undefined : (media ?? fee);
  const amount = isFree ? 0 : Math.max(1, cost?.amount ?? 0);
  return {
    card,
    listed: card,
    priceFactor: 1,
    inputTokens: 0,
    inputBound: 'bytes',
    outputTokens: Number.MAX_SAFE_INTEGER,
    choices: 1,
    amount,
    least: amount,
    mayLower: false,
    leastOutputTokens: Number.MAX_SAFE_INTEGER,
    mustLimit: false,
    unpriced: !isFree && !isAllowed && !media,
    media: cost,
    unbounded,
    beyondLimit: 0,
    possibleTokens: POSSIBLE_TOKENS,
    tools: undefined,
  };
}
