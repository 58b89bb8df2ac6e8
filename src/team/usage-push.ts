import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { readMembership } from '../store/team/membership.ts';
import { hasTeamUsage, noteTeamUsage, takeTeamUsage } from '../store/team/usage.ts';
import type { GatewayIdentity, TeamAuthority } from './authority.ts';

export interface UsagePushOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart'>;
  clock: Clock;
  authority: Pick<TeamAuthority, 'pushUsage'>;
  identity: GatewayIdentity;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Called if the authority refuses the usage; the next sync finds the reason. */
  onRefused: () => void;
}

const EVERY_MS = 60_000;
/** Pause between messages if there is a backlog, so that syncs get through. */
const PAUSE_MS = 250;
/** Limit of messages when a gateway leaves or stops. The rest is sent after the next start. */
const LAST_BATCHES = 20;

/** Reports hourly usage to the team. Sends the changes once a minute; after time offline, sends the backlog in messages of bounded size. */
export function createUsagePush(options: UsagePushOptions) {
  const { clock, log } = options;
  let isStopped = true;
  let failure: string | undefined;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  function schedule(ms: number): void {
    if (!isStopped)
      cancel = clock.after(ms, () => {
        running = run();
      });
  }

  async function run(): Promise<void> {
    let pause = EVERY_MS;
    try {
      if (await pushUsageOnce(options)) pause = PAUSE_MS;
      if (failure !== undefined) log.info({}, 'the team hears of usage again');
      failure = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (failure !== reason) log.warn({ reason }, 'could not send usage to the team; it is sent later');
      failure = reason;
    }
    schedule(pause);
  }

  return {
    start(): void {
      isStopped = false;
      schedule(EVERY_MS / 10);
    },
    /** Waits for the current message. */
    async stop(): Promise<void> {
      isStopped = true;
      cancel();
      await running;
    },
  };
}

/** Sends unreported usage before this gateway goes away. After a failure, the next start sends it. */
export async function pushLastUsage(options: UsagePushOptions): Promise<void> {
  try {
    for (let i = 0; i < LAST_BATCHES && (await pushUsageOnce(options)); i++);
  } catch (error) {
    options.log.warn({ reason: messageOf(error) }, 'could not send the last usage to the team');
  }
}

/** Sends one message. Returns whether there may be more. Throws if the team can't be reached. */
export async function pushUsageOnce(options: UsagePushOptions): Promise<boolean> {
  const { db, ledger, authority, identity, onRefused } = options;
  const membership = readMembership(db);
  // Before this daemon is registered, the authority would take its messages for another daemon's.
  if (!membership || membership.nextNonce !== null || membership.gatewayId !== identity.gateway) return false;
  if (!hasTeamUsage(db)) return false;
  const batch = await ledger.writeApart(() => takeTeamUsage(db, membership));
  if (!batch) return false;
  const answer = await authority.pushUsage(identity, membership.nonce, batch);
  if (answer !== 'ok') {
    onRefused();
    throw new Error(`the team refused this gateway's usage: ${answer}`);
  }
  // Noted only after success: a daemon that dies before this sends the same hours again.
  await ledger.writeApart(() => noteTeamUsage(db, batch));
  return true;
}
