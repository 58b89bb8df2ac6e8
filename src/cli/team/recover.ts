import { formatUsd } from '../../money.ts';
import { type Context, note, sayJson } from '../context.ts';
import { confirmLoss } from '../input/confirm.ts';
import { type AdminOptions, withTeam } from './connection.ts';

export interface RecoverOptions extends AdminOptions {
  freeze?: boolean;
  yes?: boolean;
}

/** Ends or begins a freeze. */
export async function recoverTeam(context: Context, options: RecoverOptions): Promise<void> {
  const { freeze = false, json, yes } = options;
  const wasFrozen = await withTeam(context, options, async (admin) => {
    const { frozenSince } = await admin.status();
    if (!freeze && frozenSince !== null) {
      const missing = (await admin.members()).filter(
        ({ state, hasReported }) => state === 'active' && !hasReported,
      );
      if (missing.length > 0) {
        const names = missing.map(({ name, outNanoUsd }) => `${name} (${formatUsd(outNanoUsd)})`).join(', ');
        await confirmLoss(
          context,
          `${missing.length} gateways have not reported since the failover, and may hold more than PostgreSQL knows: ${names}.`,
          { yes },
        );
      }
    }
    if (freeze || frozenSince !== null) await admin.recover({ freeze });
    return frozenSince !== null;
  });
  if (json) sayJson(context, { object: 'team', frozen: freeze });
  if (freeze)
    note(context, 'The team is frozen: gateways spend what they have and report. To end it: gw team recover');
  else
    note(
      context,
      wasFrozen ? 'The team grants money again.' : 'The team was not frozen. Nothing was changed.',
    );
}
