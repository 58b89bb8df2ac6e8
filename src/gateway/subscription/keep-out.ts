import type { Calendar } from '../../calendar.ts';
import { GwError } from '../../errors.ts';
import { forCodex } from '../admission/errors.ts';
import { ClientGone, clientLimitMs } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Guarded, Sender } from '../state/subscriptions/limit-guard.ts';

/** Patience of clients that state none. */
const PATIENCE_MS = 60_000;
/** A client that has gone is noticed, and a guard that was lifted. */
const LOOK_MS = 1_000;

export const senderOf = ({ caller, session, request }: AnyRequestContext): Sender => ({
  key: String(caller.keyId),
  agent: session.agent,
  session: session.sessionId,
  model: request.model,
});

/**
 * Keeps a request out of windows whose rest is kept for others: refuses it, or lets it wait where the window resets within
 * half of the client's patience. Throws GwError 429, ClientGone.
 */
export async function keepOut(
  { clock, calendar }: Pick<Gateway, 'clock' | 'calendar'>,
  { exchange }: AnyRequestContext,
  look: () => Guarded | undefined,
): Promise<void> {
  const limitMs = clientLimitMs(exchange);
  const until = exchange.startedAt + (Number.isFinite(limitMs) ? limitMs / 2 : PATIENCE_MS);
  for (;;) {
    const guarded = look();
    if (!guarded) return;
    const leftMs = guarded.window.resetsAt - clock.now();
    if (!guarded.slow || clock.monotonic() + leftMs > until)
      throw forCodex(guardedError(guarded, calendar()), exchange.request.headers);
    await new Promise<void>((resolve) => void clock.after(Math.min(LOOK_MS, leftMs), resolve));
    if (exchange.gone) throw new ClientGone();
  }
}

/** 429 as of a plan that is used up: clients don't repeat it. */
function guardedError({ window, keepPpm, sharePpm }: Guarded, calendar: Calendar): GwError {
  const { resetsAt, usedPpm } = window;
  const name = window.model === '' ? window.window : `${window.window} ${window.model}`;
  const resets = `${calendar.dateOf(resetsAt)} ${calendar.timeOfDay(resetsAt)} (${calendar.timezone})`;
  const why =
    keepPpm === undefined
      ? `this run has used its share of ${sharePpm / 10_000}% of the ${name} window`
      : `${Math.floor(usedPpm / 10_000)}% of the ${name} window is used, and its last ${keepPpm / 10_000}% is kept for others`;
  const command = keepPpm === undefined ? 'gw limits' : 'gw limits guard --remove';
  const next = keepPpm === undefined ? 'See:' : 'To lift the guard:';
  return new GwError(`${why}. It resets at ${resets}. ${next} ${command}`, {
    status: 429,
    type: 'rate_limit_error',
    code: 'limit_guarded',
    headers: { 'x-should-retry': 'false' },
    fields: {
      window: window.window,
      used: usedPpm / 1_000_000,
      resets_at: Math.ceil(resetsAt / 1_000),
      reset_at: new Date(resetsAt).toISOString(),
      command,
    },
  });
}
