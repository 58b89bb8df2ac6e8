import type { Command } from 'commander';
import { readSecrets, TEAM_URL } from '../../config/secrets.ts';
import type { TeamAdmin, TeamAuthority } from '../../team/authority.ts';
import { AS_JSON, type OptionsOf } from '../command.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';

export type AdminOptions = OptionsOf<typeof addAdminOptions>;

/** The options of all commands that talk to the team's PostgreSQL. */
export function addAdminOptions(command: Command) {
  return command
    .option(
      '--url <url>',
      "the team's PostgreSQL, as an admin (default: GW_TEAM_URL, or that of gw team join)",
    )
    .option(...AS_JSON);
}

/** Runs `work` as an admin of the team: at --url, GW_TEAM_URL, or the URL that this gateway joined. */
export async function withTeam<T>(
  context: Context,
  { url }: AdminOptions,
  work: (admin: TeamAdmin) => Promise<T>,
): Promise<T> {
  const target = url ?? context.env.GW_TEAM_URL ?? readSecrets(context.paths.credentials)[TEAM_URL];
  if (!target)
    throw usageError('no team is known here. Add --url postgres://ROLE@HOST/DATABASE, or: gw team join URL');
  const { createPostgresAdmin } = await import('../../team/postgres/admin.ts');
  const admin = createPostgresAdmin(target);
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

/** Runs `work` as a gateway, on the team's database. */
export async function withAuthority<T>(
  url: string,
  work: (authority: TeamAuthority) => Promise<T>,
): Promise<T> {
  const { createPostgresAuthority } = await import('../../team/postgres/authority.ts');
  const authority = createPostgresAuthority(url);
  try {
    return await work(authority);
  } finally {
    await authority.close();
  }
}

/** Parses the id of a row. `see` is the command that lists them. */
export function readId(text: string, see: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageError(`"${text}" is not an id. See: ${see}`);
  return Number(text);
}

/** An error for an id that the team does not have. */
export function noSuch(what: string, id: string | number, see: string): CliError {
  return new CliError(`the team has no ${what} ${id}. See: ${see}`, EXIT.notFound);
}
