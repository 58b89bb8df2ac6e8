import { systemTimezone } from '../../calendar.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { readSecret } from '../input/prompt.ts';

export interface CreateOptions {
  stdin?: boolean;
  name: string;
  timezone?: string;
  json?: boolean;
}

/** Installs or upgrades the schema. */
export async function createTeam(
  context: Context,
  given: string | undefined,
  { stdin, name, timezone, json }: CreateOptions,
): Promise<void> {
  const url = stdin ? await readSecret(context) : given;
  if (!url) throw usageError('where? gw team create postgres://ADMIN@HOST/DATABASE, or --stdin');
  const { installTeam } = await import('../../team/postgres/install.ts');
  const zone = timezone ?? context.env.GW_TIMEZONE ?? systemTimezone();
  const result = await installTeam(url, { name, timezone: zone });
  if (result.outcome === 'needs_rights') {
    say(context, result.sql);
    throw new CliError(
      `role ${result.user} may not create roles and schemas in this database. The SQL above does it all: have somebody run it who may, such as: psql DATABASE < FILE`,
      EXIT.failure,
    );
  }
  const { outcome, schema, detectsFailover } = result;
  if (json)
    sayJson(context, { object: 'team', outcome, schema, timezone: zone, detects_failover: detectsFailover });
  const done = {
    created: `Created the team ${name} in schema ${schema}; its days are those of ${zone}.`,
    upgraded: `Upgraded the team in schema ${schema} to the version of this gw.`,
    current: `The team in schema ${schema} is up to date.`,
  };
  note(context, done[outcome]);
  if (outcome === 'created') {
    note(
      context,
      `Its members log in by roles of their own: CREATE ROLE ann LOGIN PASSWORD '...' IN ROLE ${schema}_member`,
    );
    note(context, 'Next: gw team budgets set 50 --url URL, then on each machine: gw team join URL');
  }
  if (!detectsFailover) {
    note(
      context,
      'warning: this PostgreSQL does not tell of failovers. After one, run at once: gw team recover --freeze',
    );
  }
}
