import { openSettingsFile } from '../../config/save.ts';
import { readSecrets, TEAM_URL } from '../../config/secrets.ts';
import { systemRandom } from '../../ids.ts';
import { createArchive, SEARCH_MS } from '../../store/archive/archive.ts';
import type { Db } from '../../store/database/open.ts';
import { inTransaction } from '../../store/database/write.ts';
import { readMembership, removeMembership, startLeaving } from '../../store/team/membership.ts';
import { createDemands } from '../../team/demands.ts';
import { fingerprintOf } from '../../team/fingerprint.ts';
import { createTeamClock } from '../../team/team-clock.ts';
import { type Context, tell } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError } from '../exit.ts';
import { withStore } from '../with-store.ts';

const LIMIT_MS = 40_000;
const POLL_MS = 100;

/** Leaves the team: the daemon returns the money once its requests have ended, or this process where none runs. */
export async function leave(context: Context): Promise<void> {
  await withStore(context, async (db) => {
    const membership = readMembership(db);
    if (!membership) throw new CliError('this gateway belongs to no team. To join one: gw team join URL');
    if (membership.fingerprint !== fingerprintOf(context.paths.database)) {
      // It has no money: what the team granted is the other's.
      removeMembership(db, context.clock.now());
    } else if ((await findDaemon(context)).kind === 'running') {
      await waitForDaemon(context, db);
    } else {
      await leaveHere(context, db);
    }
    (await openSettingsFile(context.paths.credentials)).delete([TEAM_URL]);
    tell(
      context,
      `left the team ${membership.teamName}. Its budgets no longer count requests of this gateway.`,
    );
  });
}

async function waitForDaemon(context: Context, db: Db): Promise<void> {
  startLeaving(db);
  for (const deadline = context.clock.monotonic() + LIMIT_MS; ; ) {
    const membership = readMembership(db);
    if (!membership) return;
    if (membership.leaving === 0)
      throw new CliError(
        `this gateway is still a member: ${membership.failure ?? 'the daemon could not tell the team'}. See: gw team status`,
      );
    if (context.clock.monotonic() > deadline)
      throw new CliError(
        "requests still run that hold the team's money. The daemon leaves when they have ended: gw team status",
      );
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function leaveHere(context: Context, db: Db): Promise<void> {
  const { clock, paths } = context;
  const membership = readMembership(db);
  if (!membership) return;
  const [{ createPostgresAuthority }, { createSyncAgent }, { pushLastUsage }] = await Promise.all([
    import('../../team/postgres/authority.ts'),
    import('../../team/sync-agent.ts'),
    import('../../team/usage-push.ts'),
  ]);
  const archive = createArchive(db);
  while (inTransaction(db, () => archive.takeOver(clock.now() + SEARCH_MS)));
  const teamClock = createTeamClock(clock, membership.offsetMs);
  const write = async <T>(command: () => T) => inTransaction(db, command);
  const common = {
    db,
    ledger: { writeBudgets: write, writeApart: write, settled: async () => {} },
    clock,
    authority: createPostgresAuthority(readSecrets(paths.credentials)[TEAM_URL] ?? ''),
    identity: { gateway: membership.gatewayId, token: membership.token },
    log: { info() {}, warn() {} },
  };
  const agent = createSyncAgent({
    ...common,
    teamClock,
    random: systemRandom,
    demands: createDemands(clock, teamClock),
    onKeysVersion() {},
    onAnswer() {},
    onLeaving: () => pushLastUsage({ ...common, onRefused() {} }),
  });
  await agent.leave();
}
