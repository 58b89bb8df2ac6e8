import type { NanoUsd } from '../../../money.ts';
import type { AskTerms } from '../../../store/ledger/asks/asking.ts';
import { clientLimitMs } from '../../context/client-limit.ts';
import type { Gateway } from '../../context/gateway.ts';
import type { AnyRequestContext } from '../../context/request-context.ts';
import { enoughFor } from '../fitting-hold.ts';
import type { Quote } from '../quote.ts';

/** The rest of a client's limit is for the answer of the provider. */
const SHARE_OF_CLIENT_LIMIT = 0.5;

/** The name by which a client's own limit is measured. */
export const clientName = ({ exchange }: AnyRequestContext): string =>
  exchange.request.headers['user-agent'] ?? '';

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
