import { Command, type CommandUnknownOpts } from 'commander';
import { remoteGateway } from '../remote/target.ts';
import type { CommandEntry } from './command.ts';
import { type Context, message, note } from './context.ts';
import { localOnly } from './remote/connection.ts';

const ALL_COMMANDS = `
All commands: gw help --all`;

const EXIT_CODES = `
Exit codes: 0 ok, 1 failure, 2 usage, 3 gw is not running, 4 key or plan,
5 not found, 6 over budget, 130 interrupted.
Settings: flag, then environment (GW_HOME, GW_PORT, ...), then gw config,
then default.`;

/** The catalog entry that the arguments name, as in `gw usage ...` or `gw help usage`. */
export function entryFor(
  args: readonly string[],
  catalog: readonly CommandEntry[],
): CommandEntry | undefined {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  return catalog.find((entry) => entry.name === name || (entry.aliases ?? []).includes(name ?? ''));
}

/** Says on a terminal which remote gw answers a command. Throws if the command is for this machine only. */
function checkReach(
  context: Context,
  { name, reach, remote = [] }: CommandEntry,
  action: CommandUnknownOpts,
): void {
  const gateway = reach === 'any' ? null : remoteGateway(context);
  if (gateway === null) return;
  if (reach === 'local' && !remote.includes(action.name())) throw localOnly(`gw ${name}`, gateway);
  if (context.stderr.isTTY) note(context, `gw at ${gateway.url}`);
}

/**
 * Builds the program. Commands in `loaded` are complete; the others only appear in the help; without `all`, those that
 * are rarely used do not.
 */
export async function createProgram(
  context: Context,
  catalog: readonly CommandEntry[],
  loaded: readonly CommandEntry[],
  { all = true } = {},
): Promise<Command> {
  const program = new Command('gw')
    .description('A local spending firewall and accountant for LLM calls.')
    .usage('[command]')
    .version(context.version, '-V, --version')
    .enablePositionalOptions()
    .addHelpText('after', (all ? '' : ALL_COMMANDS) + EXIT_CODES)
    // Set before the subcommands are added: they inherit these.
    .exitOverride()
    .showHelpAfterError('See: gw --help')
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(message(context, text)),
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getErrHelpWidth: () => context.stderr.columns ?? 80,
      outputError: (text, write) => write(text.replace(/^error: /, 'gw: ')),
    });
  const programFor = (words: readonly string[]) => {
    const entry = entryFor(words, catalog);
    return createProgram(context, catalog, entry ? [entry] : []);
  };
  for (const entry of catalog) {
    const command = program
      .command(entry.name, { hidden: entry.hidden === true || (entry.rare === true && !all) })
      .aliases(entry.aliases ?? [])
      .helpGroup(entry.group)
      .description(entry.about);
    if (loaded.includes(entry)) {
      command.showHelpAfterError(`See: gw ${entry.name} --help`);
      (await entry.load())(command, context, programFor);
      command.hook('preAction', (_, action) => checkReach(context, entry, action));
      for (const each of command.commands)
        each.showHelpAfterError(`See: gw ${entry.name} ${each.name()} --help`);
    }
  }
  return program;
}
