import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { SetUp } from '../command.ts';
import { type Context, say } from '../context.ts';
import { createProgram, entryFor } from '../program.ts';
import { withStore } from '../with-store.ts';

/** A word that may come next, and what it is. */
interface Candidate {
  value: string;
  about: string;
}

export const complete: SetUp = (command, context) => {
  command
    .argument('[words...]', 'the command line so far, without gw')
    .action((words: string[]) => run(context, words));
};

async function run(context: Context, words: string[]): Promise<void> {
  const before = words.slice(0, -1);
  const begun = words.at(-1) ?? '';
  const entry = entryFor(before);
  const program = await createProgram(context, entry ? [entry] : []);
  const found = await candidates(context, program, before, begun);
  const lines = found
    .filter(({ value }) => value.startsWith(begun))
    .map(({ value, about }) => `${value}\t${about}`);
  if (lines.length > 0) say(context, lines.join('\n'));
}

async function candidates(
  context: Context,
  program: Command,
  before: string[],
  begun: string,
): Promise<Candidate[]> {
  const command = commandAt(program, before);
  const last = before.at(-1) ?? '';
  const option = command.options.find(({ short, long }) => last !== '' && (last === short || last === long));
  if (option && (option.required || option.optional)) {
    if (option.long === '--project') return projectNames(context);
    return (option.argChoices ?? []).map((value) => ({ value, about: option.description }));
  }
  if (begun.startsWith('-')) {
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

function commandAt(program: Command, words: string[]): Command {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next) command = next;
  }
  return command;
}

async function projectNames(context: Context): Promise<Candidate[]> {
  if (!existsSync(context.paths.database)) return [];
  const { listProjects } = await import('../../store/accounts/projects.ts');
  const projects = await withStore(context, listProjects);
  return projects.map(({ name, plan }) => ({ value: name, about: `project, plan ${plan}` }));
}
