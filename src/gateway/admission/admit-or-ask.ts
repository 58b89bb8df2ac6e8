import { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/admission.ts';
import type { AskResult, AskTerms } from '../../store/ledger/asks.ts';
import { clientLimitMs } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import { type AnyRequestContext, PROJECT_PAUSED, pausedMessage } from '../context/request-context.ts';
import { ClientGone } from '../intake/client-gone.ts';
import { enoughFor } from './fitting-hold.ts';
import type { Quote } from './quote.ts';

export type AskParts = Pick<Gateway, 'approvals' | 'authenticator' | 'clock' | 'ledger' | 'settings'>;

export type AnsweredResult = Exclude<AdmissionResult, AskResult>;

/**
 * Admits a request. Where a budget asks its owner, waits for the answer: nothing is sent to the client meanwhile.
 * Throws ClientGone, and GwError if the project is paused or the key revoked while the request waits.
 */
export async function admitOrAsk(
  gateway: AskParts,
  { context, admission }: { context: AnyRequestContext; admission: Admission },
  admit: () => Promise<AdmissionResult>,
): Promise<AnsweredResult> {
  const first = await admit();
  if (first.kind !== 'ask') return answered(gateway, context, first);
  const leave = gateway.approvals.join();
  try {
    for (;;) {
      await gateway.approvals.nextLook();
      mustBeThere(gateway, context);
      const seen = await gateway.ledger.look(admission);
      const result = seen.kind === 'wait' ? await admit() : seen;
      if (result.kind !== 'ask') return answered(gateway, context, result);
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

/** How a request's owner is asked: nothing is worked out before a budget asks. */
export class RequestAskTerms implements AskTerms {
  readonly #gateway: Pick<Gateway, 'approvals' | 'clock' | 'settings'>;
  readonly #context: AnyRequestContext;
  readonly #quote: () => Quote;
  /** Monotonic, as the clock may be set while the request waits. */
  #deadline: number | undefined;
  #expiresAt = 0;

  constructor(
    gateway: Pick<Gateway, 'approvals' | 'clock' | 'settings'>,
    context: AnyRequestContext,
    quote: () => Quote,
  ) {
    this.#gateway = gateway;
    this.#context = context;
    this.#quote = quote;
  }

  needed(): NanoUsd {
    return enoughFor(this.#quote());
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
