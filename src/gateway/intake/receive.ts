import { bareRequest, readLoosely } from '../../wire/request/lenient.ts';
import { withServiceHeaders } from '../../wire/request/service-options.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { AnswerWire, Wire } from '../../wire/wire.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { checkKey } from './check-key.ts';
import { identifySession } from './identify-session.ts';
import { isLarge, scanRequest } from './scan-large.ts';
import { ownProject, selectProject } from './select-project.ts';

/** Who sends a request, and from where. */
export type Sender = Pick<RequestContext, 'exchange' | 'caller' | 'origin'>;

/** Throws GwError 401 for a missing or unknown key. */
export function authenticate(
  gateway: Pick<Gateway, 'attribution' | 'authenticator'>,
  exchange: Exchange,
): Sender {
  const { headers, socket } = exchange.request;
  const caller = gateway.authenticator.authenticate(headers);
  return { exchange, caller, origin: gateway.attribution.originOf(socket) };
}

/** Reads a body. What it shares with the last ones is not scanned again. Throws GwError 400 with `param`. */
export async function readRequest(
  { recentBodies }: Pick<Gateway, 'recentBodies'>,
  wire: Wire,
  bytes: Buffer,
): Promise<WireRequest> {
  const earlier = recentBodies.find(bytes);
  const scan = await scanRequest(bytes, wire, earlier);
  recentBodies.keep({ bytes, scan }, earlier);
  return wire.parse(bytes, scan);
}

/** A parsed request on the account of its project. Throws GwError 403, 404 and 429 for one that the key can't make. */
export function receive<W extends AnswerWire, Request extends WireRequest>(
  accounts: Pick<Gateway, 'findProject' | 'hasBudget' | 'keyRates' | 'recentPrompts'>,
  sender: Sender,
  wire: W,
  request: Request,
): RequestContext<W> & { request: Request } {
  const { headers } = sender.exchange.request;
  checkKey(accounts, sender, request);
  const options = withServiceHeaders(request.options, headers);
  const project = selectProject(sender.caller, options.budgetId, accounts);
  const { exchange, caller, origin } = sender;
  const session = identifySession(headers, request);
  // Written out: a context made by spreading costs 20 us a request, as V8 no longer shares its shape.
  const { recentPrompts } = accounts;
  return {
    exchange,
    caller,
    project,
    origin,
    session,
    wire,
    request,
    options,
    recentPrompts,
    savedTokens: 0,
  };
}

/** What can be recorded of a request that can't be parsed, or of one that names an account its key can't use. */
export function receiveUnreadable(
  sender: Sender,
  wire: Wire,
  body: Buffer,
  request = readable(body, sender.exchange),
): RequestContext {
  const project = ownProject(sender.caller);
  const session = identifySession(sender.exchange.request.headers, request);
  return { ...sender, project, session, wire, request, options: request.options, savedTokens: 0 };
}

function readable(body: Buffer, { request }: Exchange): WireRequest {
  try {
    return isLarge(body) ? bareRequest(body) : readLoosely(body, request);
  } catch {
    return bareRequest(body);
  }
}
