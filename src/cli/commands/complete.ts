import { existsSync } from 'node:fs';
import { Argument, type Command, type CommandUnknownOpts } from 'commander';
import { orElse } from '../../errors.ts';
import { remoteGateway } from '../../remote/target.ts';
import { listProjects } from '../../store/accounts/projects.ts';
import type { SetUp, SetUpAmongOthers } from '../command.ts';
import { type Context, say } from '../context.ts';
import { withStore } from '../with-store.ts';

interface Candidate {
  value: string;
  about: string;
}

export const complete: SetUpAmongOthers = (command, context, programFor) =>
  command.argument('[words...]', 'the command line so far, without gw').action(async (words) => {
    const before = words.slice(0, -1);
    const prefix = words.at(-1) ?? '';
    const all = await candidates(context, await programFor(before), before, prefix);
    const lines = all
      .filter(({ value }) => value.startsWith(prefix))
      .map(({ value, about }) => `${value}\t${about}`);
    if (lines.length > 0) say(context, lines.join('\n'));
  });

async function candidates(
  context: Context,
  program: Command,
  before: string[],
  prefix: string,
): Promise<Candidate[]> {
  const command = commandAt(program, before);
  const last = before.at(-1) ?? '';
  const option = command.options.find(({ short, long }) => last !== '' && (last === short || last === long));
  if (option && (option.required || option.optional)) {
    if (option.long === '--project') return projectNames(context);
    return (option.argChoices ?? []).map((value) => ({ value, about: option.description }));
  }
  if (prefix.startsWith('-')) {
    return command.options
      .filter(({ hidden, long }) => !hidden && long)
      .map(({ long, description }) => ({ value: long ?? '', about: description }));
  }
  const subcommands = command.createHelp().visibleCommands(command);
  const choices = command.registeredArguments[0]?.argChoices ?? [];
  return [
    ...subcommands.map((sub) => ({ value: sub.name(), about: sub.description() })),
    ...choices.map((value) => ({ value, about: '' })),
  ];
}

function commandAt(program: Command, words: string[]): CommandUnknownOpts {
  let command: CommandUnknownOpts = program;
  for (const word of words) {
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next) command = next;
  }
  return command;
}

async function projectNames(context: Context): Promise<Candidate[]> {
  if (isRemote(context) || !existsSync(context.paths.database)) return [];
  const projects = await withStore(context, listProjects);
  return projects.map(({ name, plan }) => ({ value: name, about: `project, plan ${plan}` }));
}

/** Whether commands go to a remote gw, whose projects are not known here. */
function isRemote(context: Context): boolean {
  return orElse(() => remoteGateway(context) !== null, true);
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The scripts ask gw for the next words, so they never go out of date. */
const SCRIPTS: Record<Shell, string> = {
  bash: `_gw_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(gw complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _gw_complete gw`,
  zsh: `_gw_complete() {
  local -a found
  local line
  for line in "\${(@f)$(gw complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe gw found; else _files; fi
}
compdef _gw_complete gw`,
  fish: `complete -c gw -f -a '(gw complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
};

export const completion: SetUp = (command, context) =>
  command
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      '\nbash, ~/.bashrc:  eval "$(gw completion bash)"\nzsh, ~/.zshrc, after compinit:  eval "$(gw completion zsh)"\nfish:  gw completion fish > ~/.config/fish/completions/gw.fish',
    )
    .action((shell) => say(context, SCRIPTS[shell]));
