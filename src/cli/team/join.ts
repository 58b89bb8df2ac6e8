import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { openSettingsFile } from '../../config/save.ts';
import { readSecrets, TEAM_URL } from '../../config/secrets.ts';
import { formatUsd } from '../../money.ts';
import { changeConfiguration } from '../../store/database/write.ts';
import { addMembership, makeCourier, readMembership, removeMembership } from '../../store/team/membership.ts';
import { applyTeamBudgets } from '../../store/team/team-budgets.ts';
import { fingerprintOf } from '../../team/fingerprint.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { readSecret } from '../input/prompt.ts';
import { withStore } from '../with-store.ts';

export interface JoinOptions {
  stdin?: boolean;
  name?: string;
  courier?: boolean;
  json?: boolean;
}

/** Joins a team. Its budgets count from now on: what was spent before is nobody's but this gateway's. */
export async function join(context: Context, given: string | undefined, options: JoinOptions): Promise<void> {
  if (options.courier && given === undefined && !options.stdin) return becomeCourier(context, options);
  const url = options.stdin ? await readSecret(context) : given;
  if (!url) throw usageError('where is the team? gw team join postgres://ROLE@HOST/DATABASE, or --stdin');
  const name = options.name ?? hostname();
  await withStore(context, async (db) => {
    const { database, credentials } = context.paths;
    const fingerprint = fingerprintOf(database);
    const now = context.clock.now();
    const before = readMembership(db);
    if (before && before.fingerprint === fingerprint)
      throw new CliError(
        `this gateway is "${before.name}" of the team ${before.teamName}. To leave it: gw team leave`,
      );
    const { createPostgresAuthority } = await import('../../team/postgres/authority.ts');
    const authority = createPostgresAuthority(url);
    try {
      const config = await authority.budgets();
      if (options.courier) await authority.mayDeliver();
      const token = randomBytes(32).toString('hex');
      const nonce = randomBytes(16).toString('hex');
      (await openSettingsFile(credentials)).set([TEAM_URL], url);
      const gatewayId = await authority.join({ name, token, nonce });
      changeConfiguration(db, () => {
        // A copy of another gateway's state: that one's money is not this one's.
        if (before) removeMembership(db, now);
        addMembership(db, {
          gatewayId,
          name,
          teamName: config.name,
          token,
          nonce,
          fingerprint,
          timezone: config.timezone,
          courier: options.courier ? 1 : 0,
          joinedAt: now,
        });
        applyTeamBudgets(db, config.budgets, { now, version: config.version });
      });
      if (options.json) {
        sayJson(context, {
          object: 'team_membership',
          name: config.name,
          gateway: name,
          gateway_id: gatewayId,
        });
        return;
      }
      tell(context, `joined the team ${config.name} as gateway ${gatewayId}, "${name}".`);
      for (const { project, period, capNanoUsd, spentNanoUsd } of config.budgets)
        tell(
          context,
          `  ${project || 'whole team'}, ${period}: ${formatUsd(spentNanoUsd)} of ${formatUsd(capNanoUsd)} spent`,
        );
      if (config.budgets.length === 0)
        tell(context, 'It has no budgets yet. An admin sets one: gw team budgets set 50');
      tell(context, 'See: gw team status');
    } finally {
      await authority.close();
    }
  });
}

/** Has a gateway that is a member already deliver the team's events. */
async function becomeCourier(context: Context, { json }: JoinOptions): Promise<void> {
  await withStore(context, async (db) => {
    const membership = readMembership(db);
    if (!membership) throw usageError('which team? gw team join URL --courier');
    const { createPostgresAuthority } = await import('../../team/postgres/authority.ts');
    const authority = createPostgresAuthority(readSecrets(context.paths.credentials)[TEAM_URL] ?? '');
    try {
      await authority.mayDeliver();
    } finally {
      await authority.close();
    }
    makeCourier(db);
    const { name, teamName, gatewayId } = membership;
    if (json)
      sayJson(context, { object: 'team_membership', name: teamName, gateway: name, gateway_id: gatewayId });
    else
      tell(context, `Gateway "${name}" delivers the events of the team ${teamName} when no other one does.`);
  });
}
