import { formatUsd, parseUsd, usdNumber } from '../../money.ts';
import type { TeamMember } from '../../team/authority.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { ask, canAsk } from '../input/prompt.ts';
import { type AdminOptions, noSuch, withTeam } from './connection.ts';

export interface ForgetOptions extends AdminOptions {
  release?: boolean;
  amount?: string;
}

/** A gateway by id or name. */
export async function forgetGateway(context: Context, text: string, options: ForgetOptions): Promise<void> {
  const { release = false, json } = options;
  if (options.amount !== undefined && !release)
    throw usageError('--amount confirms --release, which is missing');
  const { gateway, amount } = await withTeam(context, options, async (admin) => {
    const gateway = findGateway(await admin.members(), text);
    const held = gateway.outNanoUsd + gateway.assumedNanoUsd;
    if (release && held > 0)
      await confirmRelease(context, { name: gateway.name, held, amount: options.amount });
    return { gateway, amount: await admin.forget(gateway.id, { release }) };
  });
  if (json) {
    sayJson(context, {
      ...{
        object: 'team_gateway',
        id: gateway.id,
        name: gateway.name,
        state: 'forgotten',
        released: release,
      },
      ...{ amount_usd: usdNumber(amount), amount_nano_usd: amount },
    });
  }
  const fate = release
    ? `${formatUsd(amount)} that it held can be granted to others.`
    : `${formatUsd(amount)} that it held counts as spent, until it comes back and reports.`;
  note(context, `Forgot gateway ${gateway.id}, "${gateway.name}": ${fate}`);
}

function findGateway(members: readonly TeamMember[], text: string): TeamMember {
  const byId = members.find(({ id }) => String(id) === text);
  const named = byId ? [byId] : members.filter(({ name }) => name === text);
  const [found, ...others] = named;
  if (!found) throw noSuch('gateway', `"${text}"`, 'gw team members');
  if (others.length === 0) return found;
  throw usageError(
    `${named.length} gateways are named "${text}": ${named.map(({ id }) => id).join(', ')}. Use an id`,
  );
}

async function confirmRelease(
  context: Context,
  { name, held, amount }: { name: string; held: number; amount: string | undefined },
): Promise<void> {
  const risk = `"${name}" may have spent ${formatUsd(held)} that it has not reported. If it did, releasing it lets the team pass its cap by as much.`;
  if (amount === undefined && !canAsk(context)) {
    throw usageError(`${risk} To go ahead, add --amount ${usdNumber(held)}`);
  }
  const typed = amount ?? (await ask(context, `${risk} Type the amount to go ahead: `));
  if (parseUsd(typed.trim()) !== held) {
    throw new CliError(`"${typed.trim()}" is not ${usdNumber(held)}: nothing was changed`);
  }
}
