import { Option } from 'commander';
import { GwError } from '../../errors.ts';
import { connectRemote } from '../../remote/client.ts';
import { keyFor, parseGatewayUrl } from '../../remote/target.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import {
  clientVariables,
  exportLines,
  googleVariables,
  SHELLS,
  warnOfForeignKeys,
} from '../client/variables.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { addressOf, findDaemon, originOf } from '../daemon/find.ts';
import { type Destination, remoteDestination, remoteOf } from '../remote/connection.ts';
import { networkOf, readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

export const env: SetUp = (command, context) =>
  command
    .option('-p, --project <name>', 'project to charge (default: default)')
    .option(
      '--url <url>',
      'gw of another machine, or the URL under which this one is reached from a container',
    )
    .addOption(new Option('--shell <shell>', 'shell to print the lines for').choices(SHELLS).default('sh'))
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nbash, zsh:   eval "$(gw env)"\nfish:        gw env --shell fish | source\npowershell:  gw env --shell powershell | Invoke-Expression',
    )
    .action(async ({ project, url, shell, json }) => {
      const { origin, key } = await destinationOf(context, url, project);
      const access = { origin, key };
      const variables = { ...clientVariables(access, context.env), ...googleVariables(access, context.env) };
      if (json) sayJson(context, variables);
      else say(context, exportLines(variables, shell));
      warnOfForeignKeys(context, variables);
    });

async function destinationOf(
  context: Context,
  url: string | undefined,
  project: string | undefined,
): Promise<Destination> {
  if (url !== undefined) return destinationAt(context, parseGatewayUrl(url, '--url'), project);
  const remote = remoteOf(context);
  return remote ? remoteDestination(remote, project) : localDestination(context, project);
}

/** The gw at a URL. Without a key for it, that is another address of this machine's, such as containers use. */
async function destinationAt(context: Context, url: string, project?: string): Promise<Destination> {
  const key = keyFor(context, url);
  if (key === undefined) {
    note(context, `No key is known for ${url}: this is the one of gw on this machine. See: gw login`);
    return { ...(await localDestination(context, project)), origin: url };
  }
  const gateway = { url, key };
  return remoteDestination(
    { gateway, ask: connectRemote(gateway, { network: () => networkOf(context) }) },
    project,
  ).catch((error) => {
    // It may be reachable only from where the variables will be used.
    if (!(error instanceof GwError && error.code === 'server_unreachable') || project !== undefined)
      throw error;
    note(context, `warning: ${error.message}`);
    return { origin: url, key };
  });
}

async function localDestination(context: Context, project = DEFAULT_PROJECT): Promise<Destination> {
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  const state = await findDaemon(context);
  if (state.kind === 'running') return { origin: state.daemon.origin, key };
  const { settings } = readSettings(context);
  note(context, 'gw is not running yet. Run: gw start');
  return { origin: originOf(addressOf(settings), settings), key };
}
