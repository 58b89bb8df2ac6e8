import type { Clock } from '../clock.ts';
import { GwError, messageOf } from '../errors.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { noteCourier } from '../store/team/membership.ts';
import type { WebhookFormat } from '../store/webhooks/endpoints.ts';
import type { EventType } from '../store/webhooks/event-types.ts';
import type { Attempt, Claim, Outbox } from '../store/webhooks/outbox.ts';
import type { ClaimedDelivery, DeliveryOutcome, GatewayIdentity, TeamAuthority } from './authority.ts';

export interface CourierOutboxOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart'>;
  clock: Clock;
  authority: Pick<TeamAuthority, 'claimEvents' | 'finishDelivery'>;
  identity: GatewayIdentity;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** The team's deliveries as a dispatcher's outbox. Empty while another gateway has the courier's lease. */
export interface CourierOutbox extends Outbox {
  /** Releases the lease, so that another gateway needn't wait until it expires. */
  end(): Promise<void>;
}

/** Maximum delay until another gateway takes over from a courier that died. */
const LEASE_MS = 30_000;
/** Maximum delay until a courier finds a new event. */
const POLL_MS = 2_000;
/** Poll interval of a gateway on standby. */
const STAND_BY_MS = 10_000;
/** Retry interval if claiming events fails. */
const RETRY_MS = 5_000;

export function createCourierOutbox(options: CourierOutboxOptions): CourierOutbox {
  const { db, ledger, clock, authority, identity, log } = options;
  /** UTC milliseconds, by this machine's clock. */
  let askAt = 0;
  let isCourier = false;
  let failure: string | undefined;

  async function setCourier(until: number): Promise<void> {
    if (isCourier !== until > 0)
      log.info(
        {},
        until > 0
          ? "this gateway delivers the team's events"
          : "this gateway no longer delivers the team's events",
      );
    isCourier = until > 0;
    // Only for `gw team status` and the metrics; deliveries depend on the lease in the team's database.
    await ledger.writeApart(() => noteCourier(db, until));
  }

  async function claim({ now, leaseMs }: { now: number; leaseMs: number }): Promise<Claim[]> {
    try {
      const answer = await authority.claimEvents(identity, { leaseMs: LEASE_MS, claimMs: leaseMs });
      failure = undefined;
      askAt = clock.now() + pauseAfter(answer);
      if (answer.isCourier) await setCourier(now + answer.leaseMs);
      else if (isCourier) await setCourier(0);
      return answer.deliveries.map((delivery) => claimOf(delivery, now + leaseMs));
    } catch (error) {
      askAt = clock.now() + RETRY_MS;
      if (isCourier && !(error instanceof GwError && error.code === 'team_unreachable')) await setCourier(0);
      const reason = messageOf(error);
      if (failure !== reason) log.warn({ reason }, "could not ask for the team's events");
      failure = reason;
      return [];
    }
  }

  async function finish({ id, claims }: Claim, outcome: DeliveryOutcome): Promise<boolean> {
    const changed = await authority.finishDelivery(identity, { delivery: id, claim: claims }, outcome);
    // The webhook's next event may be due.
    askAt = 0;
    return changed;
  }

  return {
    nextDueAt: async () => askAt,
    foldBlocked: async () => {},
    claim,
    delivered: (claimed) => finish(claimed, { outcome: 'delivered' }),
    retryAt: (claimed, attempt, dueAt) =>
      finish(claimed, {
        outcome: 'retry',
        reason: reasonOf(attempt),
        afterMs: Math.max(0, dueAt - clock.now()),
      }),
    release: (claimed) => finish(claimed, { outcome: 'release' }),
    failed: async (claimed, attempt) => ({
      changed: await finish(claimed, { outcome: 'failed', reason: reasonOf(attempt) }),
      disabled: null,
    }),
    async end() {
      if (!isCourier) return;
      await authority.claimEvents(identity, { leaseMs: 0, claimMs: 0 }).catch(() => {});
      await setCourier(0).catch(() => {});
    },
  };
}

function pauseAfter({
  isCourier,
  leaseMs,
  dueMs,
}: {
  isCourier: boolean;
  leaseMs: number;
  dueMs: number | null;
}) {
  return isCourier ? Math.min(POLL_MS, dueMs ?? POLL_MS) : Math.min(STAND_BY_MS, leaseMs);
}

const reasonOf = ({ error, status }: Attempt): string => error ?? `HTTP ${status}`;

function claimOf({ delivery, claim, event, ...rest }: ClaimedDelivery, lapsesAt: number): Claim {
  return {
    ...rest,
    id: delivery,
    claims: claim,
    lapsesAt,
    endpointId: rest.webhook,
    // An admin's gw has validated both.
    format: rest.format as WebhookFormat,
    type: event.type as EventType,
    oldSecret: null,
    oldSecretUntil: null,
    project: event.project,
    eventId: event.id,
    eventAt: event.createdAt,
    data: event.data,
    eventCount: 1,
    since: event.createdAt,
  };
}
