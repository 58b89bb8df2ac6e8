import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ImportRow } from '../../src/cli/commands/import.ts';
import type { UsageView } from '../../src/operations/schemas/usage.ts';
import type { Script } from '../support/scripts.ts';
import { agentScriptWith, USE_TOOL } from '../wire/support/agent-script.ts';
import { type RealAgent, realAgent } from './agents.ts';
import { numbered } from './numbered.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

const LOGGED = ['codex', 'claude', 'opencode', 'kilo', 'cline', 'gemini'].map(realAgent);

/** Its words for a question, without those that keep it from writing a log or add requests that it does not log. */
function words({ name, args }: RealAgent, question: string): string[] {
  const asked = args
    .filter((each) => each !== '--ephemeral')
    .map((each) => (each === 'hi' || each === 'say hi' ? question : each));
  return [...asked, ...(name === 'opencode' || name === 'kilo' ? ['--title', 'gw'] : [])];
}

/** Asks an agent through gw, and imports its logs into gw's own home and into another one. */
async function askAndImport(agent: RealAgent, script: Script, questions: readonly (readonly string[])[]) {
  const { path, gateway, home, env } = await stageFor(agent, { providers: {} });
  gateway.upstream.script(script);
  for (const question of questions) {
    const inProject = [
      '-c',
      'cd "$HOME/work" && exec "$0" "$@"',
      process.execPath,
      GW,
      'run',
      ...IN_PROJECT,
      '--',
      path,
      ...question,
    ];
    await start('/bin/sh', inProject, env, home).output;
  }
  const second = join(home, 'second');
  mkdirSync(second);
  const reading = async <T>(state: string, args: string[]): Promise<T> => {
    const output = await start(process.execPath, [GW, ...args, '--json'], { ...env, GW_HOME: state }, home)
      .output;
    return JSON.parse(output) as T;
  };
  const importInto = async (state: string) =>
    (await reading<ImportRow[]>(state, ['import', agent.name]))[0] as ImportRow;
  // Not every agent names itself in its requests, as Cline does not; a log is always of one.
  const usage = (state: string, source: string) =>
    reading<UsageView>(state, [
      ...['usage', '--source', source, '-g', 'model'],
      ...(source === 'imported' ? ['-a', agent.name] : []),
    ]);
  const first = gateway.paths.home;
  return {
    first: { row: await importInto(first), usage: await usage(first, 'gw') },
    second: {
      row: await importInto(second),
      again: await importInto(second),
      usage: await usage(second, 'imported'),
    },
  };
}

test.each(LOGGED)(
  'gw import: the log of $name equals the ledger to the token, and counts nothing twice',
  async (agent) => {
    const questions = ['say hi', 'say hi again'].map((question) => words(agent, question));
    const { first, second } = await askAndImport(agent, numbered(), questions);
    const { requests } = first.usage.total;
    expect(requests).toBeGreaterThanOrEqual(2);
    expect(first.row).toMatchObject({ imported: 0, already_imported: 0, already_in_ledger: requests });
    expect(second.row).toMatchObject({
      imported: requests,
      already_in_ledger: 0,
      damaged_lines: 0,
      unpriced: 0,
    });
    expect(second.again).toMatchObject({ imported: 0, already_imported: requests });
    expect(second.usage.total).toEqual({
      ...first.usage.total,
      saved_tokens: 0,
      saved_usd: 0,
      saved_nano_usd: 0,
      missed_tokens: 0,
      missed_usd: 0,
      missed_nano_usd: 0,
    });
    // A log doesn't say under which name gw has the provider.
    const models = ({ data }: UsageView) => data.map(({ model }) => model?.replace(/^gemini\//, 'google/'));
    expect(models(second.usage)).toEqual(models(first.usage));
  },
);

/** Claude Code asks for a model of the provider, and may run the command. */
const CLAUDE_WITH_TOOL = ['-p', '--model', 'openai/gpt-4.1', '--allowedTools=Bash', USE_TOOL];

/** Gemini CLI asks before it runs a command. */
const WITH_TOOL = LOGGED.filter(({ name }) => name !== 'gemini');

test.each(WITH_TOOL)('gw import: the log of $name has each step of a run with tools', async (agent) => {
  const question = agent.name === 'claude' ? CLAUDE_WITH_TOOL : words(agent, USE_TOOL);
  const { first, second } = await askAndImport(
    agent,
    agentScriptWith(({ length }) => 100 * length),
    [question],
  );
  const { requests, input_tokens, output_tokens } = first.usage.total;
  expect(requests).toBeGreaterThanOrEqual(2);
  expect(first.row).toMatchObject({ imported: 0, already_in_ledger: requests });
  expect(second.row).toMatchObject({ imported: requests });
  expect(second.usage.total).toMatchObject({ requests, input_tokens, output_tokens });
});
